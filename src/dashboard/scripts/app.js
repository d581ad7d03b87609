/** Enhances the pages. Every page works without scripts. */
import { watchCharts } from './chart.js'
import { watchCopying } from './copying.js'
import { watchDialogs } from './dialogs.js'
import { watchForms, watchSignInLink, watchUrlFields } from './forms.js'
import { watchSearchForms, watchSelection } from './lists.js'
import { watchLocalTimes } from './local-times.js'
import { watchRefreshing } from './refresh.js'
import { watchShortcuts } from './shortcuts.js'

watchCharts()
watchCopying()
watchDialogs()
watchForms()
watchShortcuts()
watchSearchForms()
watchLocalTimes()
watchRefreshing()
watchUrlFields()
watchSelection()
watchSignInLink()
