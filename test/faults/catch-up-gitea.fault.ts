import { catchesUp } from '#test/support/catch-up.ts'

catchesUp('gitea')
