import { ActionIcon, Button, Group, InputError, Stack } from '@mantine/core'
import { Plus, X } from 'lucide-react'
import { type GrantChoices, RoleSelect, ScopeSelect } from './grant-fields.tsx'
import { type GrantInput, NEW_GRANT } from './grant-input.ts'
import classes from './members.module.css'

type GrantsEditorProps = GrantChoices & {
  value: GrantInput[]
  error?: string | undefined
  change(grants: GrantInput[]): void
}

/** Roles of one person, each with its scope. At least one remains. */
export function GrantsEditor({ value, error, change, roles, names }: GrantsEditorProps) {
  const set = (index: number, part: Partial<GrantInput>) =>
    change(value.map((grant, at) => (at === index ? { ...grant, ...part } : grant)))
  return (
    <Stack gap="sm">
      {value.map((grant, index) => {
        const number = value.length > 1 ? ` ${index + 1}` : ''
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a row is what its position is
          <div key={index} className={classes.grant}>
            <RoleSelect
              label={`Role${number}`}
              value={grant.role}
              roles={roles}
              change={(role) => set(index, { role })}
            />
            <ScopeSelect
              label={`Access to${number}`}
              value={grant.scope}
              names={names}
              change={(scope) => set(index, { scope })}
            />
            <ActionIcon
              variant="default"
              size="lg"
              disabled={value.length === 1}
              aria-label={`Remove role${number}`}
              onClick={() => change(value.filter((_, at) => at !== index))}
            >
              <X size={16} strokeWidth={1.75} aria-hidden="true" />
            </ActionIcon>
          </div>
        )
      })}
      {error && <InputError>{error}</InputError>}
      <Group>
        <Button
          variant="default"
          size="xs"
          leftSection={<Plus size={14} strokeWidth={1.75} aria-hidden="true" />}
          onClick={() => change([...value, NEW_GRANT])}
        >
          Add role
        </Button>
      </Group>
    </Stack>
  )
}
