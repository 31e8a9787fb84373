import { Alert, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Member } from '../api/types.ts'
import { FormDialog } from '../ui/form/form-dialog.tsx'
import { useRecordForm } from '../ui/form/use-record-form.ts'
import { useVersioned } from '../ui/form/versioned.ts'
import { notify } from '../ui/notify.ts'
import { Loaded } from '../ui/page.tsx'
import { Dialog } from '../ui/parts.tsx'
import type { GrantChoices } from './grant-fields.tsx'
import { type GrantInput, toGrantBody, toGrantInput, withoutDuplicates } from './grant-input.ts'
import { GrantsEditor } from './grants-editor.tsx'

type DialogProps = GrantChoices & { organizationId: number; userId: number; name: string; close(): void }

export function ChangeMemberDialog(props: DialogProps) {
  const { organizationId, userId, name, close } = props
  const path = { id: organizationId, user_id: userId }
  const query = useVersioned(
    queryKeys.member(organizationId, userId),
    '/organizations/{id}/members/{user_id}',
    { params: { path } },
  )
  if (query.data)
    return (
      <GrantsForm {...props} member={query.data.record} version={query.data.version} reload={query.refetch} />
    )
  return (
    <Dialog title={`Roles of ${name}`} size="lg" close={close}>
      <Loaded query={query} what="member">
        {() => null}
      </Loaded>
    </Dialog>
  )
}

type GrantsFormProps = DialogProps & {
  member: Member
  version: string | null
  reload(): Promise<{ data?: { record: Member; version: string | null } | undefined }>
}

function GrantsForm({
  organizationId,
  userId,
  name,
  close,
  member,
  version,
  reload,
  ...choices
}: GrantsFormProps) {
  const api = useApi()
  const queries = useQueryClient()
  const form = useRecordForm({
    id: `member-${organizationId}-${userId}`,
    initial: valuesOf(member),
    version,
    save: ({ grants }, ifMatch) =>
      api.put('/organizations/{id}/members/{user_id}', {
        params: {
          path: { id: organizationId, user_id: userId },
          header: ifMatch === undefined ? {} : { 'If-Match': ifMatch },
        },
        body: { grants: withoutDuplicates(grants).map(toGrantBody) },
      }),
    async reload() {
      const { data } = await reload()
      return { values: valuesOf(data?.record ?? member), version: data?.version ?? null }
    },
    onSaved() {
      close()
      notify.done(`Roles of ${name} changed.`)
      void queries.invalidateQueries({ queryKey: queryKeys.members(organizationId) })
      void queries.invalidateQueries({ queryKey: queryKeys.member(organizationId, userId) })
      // They may be one's own.
      void queries.invalidateQueries({ queryKey: queryKeys.permissions })
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
      <Text size="sm" className="dimmed">
        Roles add up. Each applies to its scope and everything in it.
      </Text>
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
