// An entry of the audit log in words. Pure.
import type { AuditEntry } from '#web/base/api/types.ts'
import { capitalized } from '#web/base/ui/field-errors.ts'

const VERBS: Record<string, string> = {
  created: 'Created',
  changed: 'Changed',
  removed: 'Removed',
  archived: 'Archived',
  unarchived: 'Unarchived',
  linked: 'Linked',
  unlinked: 'Unlinked',
  tested: 'Tested',
  tried: 'Tried a command on',
  repaired: 'Repaired a status of',
  overrode: 'Overrode a gate of',
  approved: 'Approved',
  rejected: 'Rejected',
  'secret rotated': 'Rotated the secret of',
  joined: 'Joined as',
  activated: 'Activated',
  deactivated: 'Deactivated',
  revoked: 'Revoked',
  signed_in: 'Signed in',
  signed_out: 'Signed out',
  sign_in_failed: 'Failed to sign in',
  session_ended: 'Ended a session',
  password_changed: 'Changed the password',
  password_reset_created: 'Created a password reset link',
  password_reset: 'Reset the password',
  identity_linked: 'Linked an identity',
  identity_unlinked: 'Unlinked an identity',
}

const KINDS: Record<string, string> = {
  organization: 'organization',
  project: 'project',
  environment: 'environment',
  freeze: 'freeze',
  application: 'application',
  variable: 'variable',
  server: 'server',
  credential: 'credential',
  pipeline: 'pipeline',
  step: 'step',
  action: 'run',
  incoming_hook: 'incoming hook',
  outgoing_hook: 'outgoing hook',
  member: 'member',
  invitation: 'invitation',
  role: 'role',
}

/** Kinds that only the log of the whole instance has. */
const ACCOUNT_KINDS: Record<string, string> = { user: 'account', personal_access_token: 'token' }

/** Verbs that say everything: nobody reads "Signed in account". */
const WITHOUT_KIND = /^(sign|session|password|identity)/
const ACCOUNT_VERBS = /^(sign|session|password|identity|activated|deactivated|revoked)/

type Choice = { value: string; label: string }

export function verbChoices(isEverything: boolean): Choice[] {
  return Object.entries(VERBS)
    .filter(([verb]) => isEverything || !ACCOUNT_VERBS.test(verb))
    .map(([value, label]) => ({ value, label: label.replace(/ (of|as)$/, '') }))
}

export function kindChoices(isEverything: boolean): Choice[] {
  const kinds = isEverything ? { ...KINDS, ...ACCOUNT_KINDS } : KINDS
  return Object.entries(kinds).map(([value, label]) => ({ value, label: capitalized(label) }))
}

/** "Changed server": the name of the subject follows. Unknown words are shown as they are. */
export function describeEntry({ verb, subject_type }: Pick<AuditEntry, 'verb' | 'subject_type'>): string {
  const done = Object.hasOwn(VERBS, verb) ? VERBS[verb]! : capitalized(verb.replaceAll('_', ' '))
  return WITHOUT_KIND.test(verb) ? done : `${done} ${kindLabel(subject_type)}`
}

export function kindLabel(type: string): string {
  const known = { ...KINDS, ...ACCOUNT_KINDS }
  return Object.hasOwn(known, type) ? known[type as keyof typeof known]! : type.replaceAll('_', ' ')
}

const PAGES: Record<string, (id: string) => string> = {
  project: (id) => `/overview?project=${id}`,
  environment: (id) => `/overview?environment=${id}`,
  application: (id) => `/applications/${id}`,
  server: (id) => `/servers/${id}`,
  pipeline: (id) => `/pipelines/${id}`,
  incoming_hook: (id) => `/hooks/incoming/${id}`,
  outgoing_hook: (id) => `/hooks/outgoing/${id}`,
}

/** The page about the subject, if it has one. */
export function pageOf({ subject_type, subject_id }: Pick<AuditEntry, 'subject_type' | 'subject_id'>) {
  return Object.hasOwn(PAGES, subject_type) ? PAGES[subject_type]!(encodeURIComponent(subject_id)) : undefined
}
