import { Type } from 'typebox'
import { ApiError } from '#platform/http/errors.ts'
import { Exactly } from '#platform/http/schemas.ts'
import type { LoginRefusal } from './login.ts'

// Both ways to log in, for programs and for browsers, take the same and refuse in the same words.

export const credentials = Exactly({
  email: Type.String({ minLength: 1, maxLength: 255 }),
  password: Type.String({ minLength: 1, maxLength: 255 }),
})

export function refusedLogin(outcome: LoginRefusal): ApiError {
  switch (outcome.kind) {
    case 'wrong':
      return new ApiError('unauthenticated', 'E-mail or password is wrong.')
    case 'throttled':
      return new ApiError('too_many_requests', 'Too many failed logins; wait before you try again.', {
        headers: { 'retry-after': String(outcome.retryAfterSeconds) },
      })
  }
}
