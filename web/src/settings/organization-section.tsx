import { Box, TextInput } from '@mantine/core'
import { useState } from 'react'
import { queryKeys, useApi } from '../api/queries.ts'
import type { Organization } from '../api/types.ts'
import { useScope } from '../scope/scope.ts'
import { usePermission } from '../session/permissions.ts'
import { FormDialog } from '../ui/form/form-dialog.tsx'
import { RecordForm } from '../ui/form/record-form.tsx'
import { useRecordForm } from '../ui/form/use-record-form.ts'
import { useStored, useVersioned } from '../ui/form/versioned.ts'
import { MoreMenu, RemoveMenuItem } from '../ui/guarded-button.tsx'
import { notify } from '../ui/notify.ts'
import { Loaded } from '../ui/page.tsx'
import { SectionCard } from '../ui/parts.tsx'
import { RemoveDialog } from '../ui/remove-dialog.tsx'
import { useTreeChanged } from './tree-changed.ts'

export function OrganizationSection({ id }: { id: number }) {
  const query = useVersioned(queryKeys.organization(id), '/organizations/{id}', { params: { path: { id } } })
  return (
    <SectionCard
      id="organization"
      title="Organization"
      action={query.data && <OrganizationMenu organization={query.data.record} />}
    >
      <Loaded query={query} what="organization">
        {({ record, version }) => <OrganizationForm organization={record} version={version} />}
      </Loaded>
    </SectionCard>
  )
}

function OrganizationMenu({ organization: { id, name } }: { organization: Organization }) {
  const api = useApi()
  const changed = useTreeChanged()
  const [, setScope] = useScope()
  const [isRemoving, setRemoving] = useState(false)
  return (
    <>
      <MoreMenu label="More actions for the organization" isSmall>
        <RemoveMenuItem
          permission="organization:remove"
          scope={{ organization: id }}
          onClick={() => setRemoving(true)}
        >
          Remove organization
        </RemoveMenuItem>
      </MoreMenu>
      {isRemoving && (
        <RemoveDialog
          what="organization"
          name={name}
          within={{ type: 'organization', id }}
          remove={() =>
            api.delete('/organizations/{id}', { params: { path: { id }, query: { cascade: true } } })
          }
          onRemoved={() => {
            setScope({})
            void changed()
          }}
          close={() => setRemoving(false)}
        >
          Its members lose their roles in it. Past runs remain. This cannot be undone.
        </RemoveDialog>
      )}
    </>
  )
}

type OrganizationFormProps = { organization: Organization; version: string | null }

function OrganizationForm({ organization, version }: OrganizationFormProps) {
  const changed = useTreeChanged()
  const { id } = organization
  const { allowed, reason } = usePermission('organization:edit', { organization: id })
  const form = useRecordForm<{ name: string }, Organization>({
    id: `organization-${id}`,
    initial: { name: organization.name },
    version,
    ...useStored(
      '/organizations/{id}',
      { path: { id } },
      ({ name }) => ({ name }),
      ({ name }) => ({ name: name.trim() }),
    ),
    async onSaved({ name }) {
      notify.done(`Organization ${name} saved.`)
      await changed()
    },
  })
  return (
    <Box maw="36rem">
      <RecordForm form={form} submit="Save changes" reason={allowed ? undefined : reason}>
        <TextInput label="Name" readOnly={!allowed} {...form.field('name')} />
      </RecordForm>
    </Box>
  )
}

export function AddOrganizationDialog({ close }: { close(): void }) {
  const api = useApi()
  const changed = useTreeChanged()
  const [, setScope] = useScope()
  const form = useRecordForm<{ name: string }, Organization>({
    id: 'organization-new',
    initial: { name: '' },
    save: ({ name }) => api.post('/organizations', { body: { name: name.trim() } }),
    async onSaved({ id, name }) {
      close()
      notify.done(`Organization ${name} added.`)
      await changed()
      setScope({ organization: id })
    },
  })
  return (
    <FormDialog title="Add organization" form={form} submit="Add organization" close={close}>
      <TextInput label="Name" description="You become its owner." data-autofocus {...form.field('name')} />
    </FormDialog>
  )
}
