import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '#platform/http/errors.ts'

/** Everything that takes or sets a password. */
const PASSWORD_ROUTES = [
  'POST /users/login',
  'POST /session',
  'POST /users/me/password',
  'POST /users/:id/password-reset',
  'POST /users/read-password-reset',
  'POST /users/reset-password',
]

/** Turns passwords off: their routes answer 403. Call it before the routes are registered. */
export function rejectPasswords(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ method, routeOptions }) => {
    if (PASSWORD_ROUTES.includes(`${method} ${routeOptions.url}`)) throw passwordsAreOff()
  })
  app.addHook('preHandler', async ({ method, routeOptions, body }: FastifyRequest) => {
    const isAcceptance = `${method} ${routeOptions.url}` === 'POST /users/accept-invitation'
    if (isAcceptance && (body as { password?: string }).password !== undefined) throw passwordsAreOff()
  })
  app.addHook('onReady', async () => {
    const known = new Set(app.accessTable.map(({ method, url }) => `${method} ${url}`))
    const missing = PASSWORD_ROUTES.filter((route) => !known.has(route))
    if (missing.length > 0) throw new Error(`There is no route ${missing.join(', ')}`)
  })
}

const passwordsAreOff = () =>
  new ApiError('forbidden', 'Passwords are turned off here: use single sign-on, on the sign-in page.')
