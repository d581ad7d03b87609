/** Enhances the pages. Every page works without scripts. */
import './chart.js'
import './copying.js'
import './forms.js'
import './dialogs.js'
import './shortcuts.js'
import './lists.js'
import './times.js'
import './refresh.js'
