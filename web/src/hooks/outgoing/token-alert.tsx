import { Alert } from '@mantine/core'
import type { Hook } from '../../api/types.ts'

/** Nothing while its token goes to the provider only. */
export function TokenAlert({ hook }: { hook: Pick<Hook, 'token_origins'> }) {
  const { token_origins: origins } = hook
  if (origins.length === 0) return null
  return (
    <Alert color="orange" title="The token leaves its provider" role="status" mb="md">
      This hook sends the token of a credential to {origins.join(' and ')}. Limit the credential to its
      provider to prevent that.
    </Alert>
  )
}
