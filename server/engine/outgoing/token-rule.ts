import { loadGrants } from '#access/authorization/caller.ts'
import { can } from '#access/authorization/permissions.ts'
import type { Database } from '#platform/database/connect.ts'
import type { OutgoingHook } from './outgoing-hooks.ts'

/** The token that a hook may send, or why it may not send any. */
export type TokenVerdict = { kind: 'allowed'; token: string | null } | { kind: 'refused'; message: string }

/**
 * A hook sends a token in the name of the person who edited it last: that person must be allowed to use the
 * credential at this very moment, not only when the hook was saved.
 */
export async function judgeTokens(
  db: Database,
  hooks: readonly OutgoingHook[],
): Promise<ReadonlyMap<string, TokenVerdict>> {
  const using = hooks.filter((hook) => hook.request?.usesAccessToken)
  const editors = await loadGrants(db, [...new Set(using.map((hook) => hook.editedBy))])
  return new Map(hooks.map((hook) => [hook.id, judge(hook)]))

  function judge({ request, credential, editedBy, organizationId }: OutgoingHook): TokenVerdict {
    if (!request?.usesAccessToken) return { kind: 'allowed', token: null }
    if (!credential?.token) return refused('The application has no active credential with a token to send.')
    const editor = editors.get(editedBy)
    const mayUse = editor && can(editor, 'credential:run', { organization_id: organizationId })
    if (mayUse) return { kind: 'allowed', token: credential.token }
    return refused(
      'The person who last edited this hook may not use the credential (credential:run). Somebody who may has to save the hook again.',
    )
  }
}

function refused(message: string): TokenVerdict {
  return { kind: 'refused', message }
}
