import { Alert, Group, InputError, Stack } from '@mantine/core'
import { X } from 'lucide-react'
import { queryKeys, useRefetch } from '#web/base/api/queries.ts'
import type { Member } from '#web/base/api/types.ts'
import { FormDialog } from '#web/base/form/form-dialog.tsx'
import { useRecordForm } from '#web/base/form/use-record-form.ts'
import { useStored, useVersioned } from '#web/base/form/versioned.ts'
import { AddButton, IconButton } from '#web/base/ui/controls.tsx'
import { EditDialog } from '#web/base/ui/dialog.tsx'
import { notify } from '#web/base/ui/notify.ts'
import { Dimmed } from '#web/base/ui/parts.tsx'
import { type GrantChoices, RoleSelect, ScopeSelect } from './grant-fields.tsx'
import { type GrantInput, NEW_GRANT, toGrantBody, toGrantInput, withoutDuplicates } from './grant-input.ts'
import classes from './members.module.css'

type DialogProps = GrantChoices & { organizationId: number; userId: number; name: string; close(): void }

export function ChangeMemberDialog(props: DialogProps) {
  const { organizationId, userId, name, close } = props
  const key = queryKeys.member(organizationId, userId)
  const path = { id: organizationId, user_id: userId }
  const query = useVersioned(key, '/organizations/{id}/members/{user_id}', { params: { path } })
  return (
    <EditDialog title={`Roles of ${name}`} what="member" query={query} close={close}>
      {({ record, version }) => <GrantsForm {...props} member={record} version={version} />}
    </EditDialog>
  )
}

type GrantsFormProps = DialogProps & { member: Member; version: string | null }

function GrantsForm({ organizationId, userId, name, close, member, version, ...choices }: GrantsFormProps) {
  const refetch = useRefetch()
  const key = queryKeys.member(organizationId, userId)
  const path = { id: organizationId, user_id: userId }
  const form = useRecordForm({
    id: `member-${organizationId}-${userId}`,
    initial: valuesOf(member),
    version,
    ...useStored('/organizations/{id}/members/{user_id}', { path }, valuesOf, bodyOf),
    onSaved() {
      close()
      notify.done(`Roles of ${name} changed.`)
      // They may be one's own.
      void refetch(queryKeys.members(organizationId), key, queryKeys.permissions)
    },
  })
  const isMapped = member.grants.some(({ source }) => source === 'oidc')
  return (
    <FormDialog
      title={`Roles of ${name}`}
      form={form}
      submit="Save changes"
      labels={{ grants: 'Roles' }}
      needs={{ permission: 'member:edit', scope: { organization: organizationId } }}
      close={close}
    >
      <Dimmed>Roles add up. Each applies to its scope and everything in it.</Dimmed>
      {isMapped && (
        <Alert color="blue">
          Some of these roles follow the groups of the identity provider and are replaced at the next sign-in.
        </Alert>
      )}
      <GrantsEditor
        value={form.values.grants}
        error={form.errors.grants ?? undefined}
        change={(grants) => form.set('grants', grants)}
        {...choices}
      />
    </FormDialog>
  )
}

function valuesOf({ grants }: Member): { grants: GrantInput[] } {
  return { grants: grants.map(toGrantInput) }
}

function bodyOf({ grants }: { grants: GrantInput[] }) {
  return { grants: withoutDuplicates(grants).map(toGrantBody) }
}

type GrantsEditorProps = GrantChoices & {
  value: GrantInput[]
  error?: string | undefined
  change(grants: GrantInput[]): void
}

/** Roles of one person, each with its scope. At least one remains. */
function GrantsEditor({ value, error, change, roles, names }: GrantsEditorProps) {
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
            <IconButton
              label={`Remove role${number}`}
              icon={X}
              variant="default"
              size="lg"
              disabled={value.length === 1}
              onClick={() => change(value.filter((_, at) => at !== index))}
            />
          </div>
        )
      })}
      {error && <InputError>{error}</InputError>}
      <Group>
        <AddButton onClick={() => change([...value, NEW_GRANT])}>Add role</AddButton>
      </Group>
    </Stack>
  )
}
