import { Box, TextInput } from '@mantine/core'
import { useState } from 'react'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import type { Organization } from '#web/base/api/types.ts'
import { FormDialog } from '#web/base/form/form-dialog.tsx'
import { RecordForm } from '#web/base/form/record-form.tsx'
import { useRecordForm } from '#web/base/form/use-record-form.ts'
import { useStored, useVersioned } from '#web/base/form/versioned.ts'
import { usePermission } from '#web/base/session/permissions.ts'
import { MoreMenu, RemoveMenuItem } from '#web/base/ui/menus.tsx'
import { notify } from '#web/base/ui/notify.ts'
import { Loaded } from '#web/base/ui/page.tsx'
import { SectionCard } from '#web/base/ui/parts.tsx'
import { RemoveDialog } from '#web/base/ui/remove-dialog.tsx'
import { useScope } from '#web/shared/scope/scope.ts'
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
          id={id}
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
