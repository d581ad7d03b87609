/** What scripts add to the pages. Every page works without them. */
import { watchCharts } from './chart.js'
import { watchCopying } from './copying.js'
import { watchDialogs } from './dialogs.js'
import { watchForms } from './forms.js'
import { watchKeys } from './keys.js'
import { watchLiveForms } from './live.js'
import { watchLocalTimes } from './local-times.js'
import { watchRefreshing } from './refresh.js'
import { watchSchemes } from './schemes.js'
import { watchSelection } from './selection.js'
import { signInByLink } from './sign-in.js'

watchCharts()
watchCopying()
watchDialogs()
watchForms()
watchKeys()
watchLiveForms()
watchLocalTimes()
watchRefreshing()
watchSchemes()
watchSelection()
signInByLink()
