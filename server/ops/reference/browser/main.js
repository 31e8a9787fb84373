// Adds to the page what needs a script: search, the current section, one language of samples, schemas that unfold in
// place, and trying calls. Without it the page is complete, only longer.
import { installCode } from './code.js'
import { installNavigation } from './navigation.js'
import { installSchemas } from './schemas.js'
import { installSearch } from './search-box.js'
import { installToken } from './token.js'
import { installTryIt } from './try-it.js'

installCode()
installSchemas()
installSearch()
installToken()
installTryIt()
installNavigation()
