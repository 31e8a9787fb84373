// Adds to the page what needs a script: search, the current section, one language of samples, schemas that unfold in
// place, and trying calls. Without it the page is complete, only longer.
import { installCode } from './code.js'
import { installNavigation } from './navigation.js'
import { installOperationSearch } from './operation-search.js'
import { installSchemas } from './schemas.js'
import { installToken } from './token.js'
import { installTryIt } from './try-it.js'

installCode()
installSchemas()
installOperationSearch()
installToken()
installTryIt()
installNavigation()
