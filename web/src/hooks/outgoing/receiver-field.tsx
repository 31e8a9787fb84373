import { PasswordInput, TextInput } from '@mantine/core'
import type { Receiver } from '../../api/types.ts'

type ReceiverFieldProps = {
  field: Receiver['fields'][number]
  /** Of the form. */
  input: object
  autoFocus?: boolean
}

/** One field of a receiver, as the catalog describes it. */
export function ReceiverField({
  field: { label, description, required, example, hidden },
  input,
  autoFocus = false,
}: ReceiverFieldProps) {
  const props = {
    label: required ? label : `${label}, optional`,
    description,
    autoComplete: hidden ? 'new-password' : 'off',
    spellCheck: false,
    autoFocus,
    ...input,
  }
  if (!hidden) return <TextInput {...props} placeholder={example ?? undefined} />
  return <PasswordInput {...props} visibilityToggleButtonProps={{ 'aria-label': `Show ${label}` }} />
}
