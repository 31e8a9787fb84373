import { Box, TextInput } from '@mantine/core'
import { useState } from 'react'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Organization } from '../api/types.ts'
import { useScope } from '../scope/scope.ts'
import { usePermission } from '../session/permissions.ts'
import { RecordForm } from '../ui/form/record-form.tsx'
import { useRecordForm } from '../ui/form/use-record-form.ts'
import { useVersioned } from '../ui/form/versioned.ts'
import { RemoveMenuItem } from '../ui/guarded-button.tsx'
import { MoreMenu } from '../ui/more-menu.tsx'
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
  const api = useApi()
  const changed = useTreeChanged()
  const { id } = organization
  const { allowed, reason } = usePermission('organization:edit', { organization: id })
  const form = useRecordForm<{ name: string }, Organization>({
    id: `organization-${id}`,
    initial: { name: organization.name },
    version,
    save: ({ name }, ifMatch) =>
      api.put('/organizations/{id}', {
        params: { path: { id }, header: { 'If-Match': ifMatch } },
        body: { name: name.trim() },
      }),
    async reload() {
      const { data, etag } = await api.getVersioned('/organizations/{id}', { params: { path: { id } } })
      return { values: { name: data.name }, version: etag }
    },
    async onSaved({ name }) {
      notify.done(`Organization ${name} saved.`)
      await changed()
    },
  })
  return (
    <Box maw="36rem">
      <RecordForm form={form} submit="Save changes" reason={allowed ? undefined : reason}>
        <TextInput label="Name" autoComplete="off" readOnly={!allowed} {...form.field('name')} />
      </RecordForm>
    </Box>
  )
}
