import { Input, Text, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Role } from '../api/types.ts'
import { usePermissions } from '../session/permissions.ts'
import { FormDialog } from '../ui/form/form-dialog.tsx'
import { useRecordForm } from '../ui/form/use-record-form.ts'
import { useVersioned } from '../ui/form/versioned.ts'
import { notify } from '../ui/notify.ts'
import { Loaded } from '../ui/page.tsx'
import { Dialog } from '../ui/parts.tsx'
import { PermissionGrid } from './permission-grid.tsx'
import { type Permission, VIEWER_PERMISSIONS } from './roles.ts'

type Values = { name: string; permissions: Permission[] }

type NewRoleProps = { organizationId: number; close(): void }

export function NewRoleDialog({ organizationId, close }: NewRoleProps) {
  const api = useApi()
  return (
    <RoleForm
      organizationId={organizationId}
      id={`role-new-${organizationId}`}
      title="Add role"
      submit="Add role"
      initial={{ name: '', permissions: VIEWER_PERMISSIONS }}
      done={(name) => `Role ${name} added.`}
      save={(body) =>
        api.post('/organizations/{id}/roles', { params: { path: { id: organizationId } }, body })
      }
      close={close}
    />
  )
}

export function ChangeRoleDialog({ role, close }: { role: Role; close(): void }) {
  const api = useApi()
  const params = { path: { id: role.id } }
  const query = useVersioned(queryKeys.role(role.id), '/roles/{id}', { params })
  if (!query.data)
    return (
      <Dialog title={role.name} size="lg" close={close}>
        <Loaded query={query} what="role">
          {() => null}
        </Loaded>
      </Dialog>
    )
  const { record, version } = query.data
  return (
    <RoleForm
      organizationId={role.organization_id}
      id={`role-${role.id}`}
      title={`Role ${role.name}`}
      submit="Save changes"
      initial={valuesOf(record)}
      version={version}
      done={(name) => `Role ${name} changed.`}
      save={(body, ifMatch) =>
        api.put('/roles/{id}', {
          params: { ...params, header: ifMatch === undefined ? {} : { 'If-Match': ifMatch } },
          body,
        })
      }
      reload={async () => {
        const { data } = await query.refetch()
        return { values: valuesOf(data?.record ?? record), version: data?.version ?? null }
      }}
      close={close}
    />
  )
}

type RoleFormProps = {
  organizationId: number
  id: string
  title: string
  submit: string
  initial: Values
  version?: string | null
  save(values: Values, ifMatch: string | undefined): Promise<Role>
  reload?(): Promise<{ values: Values; version: string | null }>
  done(name: string): string
  close(): void
}

function RoleForm(props: RoleFormProps) {
  const { organizationId, id, title, submit, initial, version, save, reload, done, close } = props
  const queries = useQueryClient()
  const isPermitted = usePermissions()
  const form = useRecordForm<Values, Role>({
    id,
    initial,
    version,
    ...(reload && { reload }),
    save: ({ name, permissions }, ifMatch) => save({ name: name.trim(), permissions }, ifMatch),
    onSaved(saved) {
      close()
      notify.done(done(saved.name))
      void queries.invalidateQueries({ queryKey: queryKeys.members(organizationId) })
      void queries.invalidateQueries({ queryKey: queryKeys.role(saved.id) })
      void queries.invalidateQueries({ queryKey: queryKeys.permissions })
    },
  })
  return (
    <FormDialog
      title={title}
      form={form}
      submit={submit}
      needs={{
        permission: version === undefined ? 'member:add' : 'member:edit',
        scope: { organization: organizationId },
      }}
      close={close}
    >
      <TextInput label="Name" maxLength={60} autoComplete="off" data-autofocus {...form.field('name')} />
      <Input.Wrapper
        label="Permissions"
        labelElement="div"
        error={form.errors.permissions}
        description="You can include what you may do yourself. Arrow keys move, Space selects."
      >
        <PermissionGrid
          value={form.values.permissions}
          change={(permissions) => form.set('permissions', permissions)}
          isAllowed={(permission) => isPermitted(permission, { organization: organizationId })}
        />
      </Input.Wrapper>
      {version !== undefined && (
        <Text size="sm" className="dimmed">
          Changes apply immediately to everyone who has the role.
        </Text>
      )}
    </FormDialog>
  )
}

function valuesOf({ name, permissions }: Role): Values {
  return { name, permissions: permissions as Permission[] }
}
