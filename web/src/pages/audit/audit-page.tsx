// Who changed what: the audit log of the selected organization or, for instance administrators, of everything.
import { Anchor, Button, Group } from '@mantine/core'
import { Download, ScrollText, ShieldAlert } from 'lucide-react'
import { useState } from 'react'
import type { AuditEntry } from '#web/base/api/types.ts'
import { usePermission } from '#web/base/session/permissions.ts'
import { useSession } from '#web/base/session/session.ts'
import { formatDateTime } from '#web/base/ui/format.ts'
import { EmptyState, Loaded, Loading, PageHeader } from '#web/base/ui/page.tsx'
import { Pager } from '#web/base/ui/pager.tsx'
import { type Column, RowTable } from '#web/base/ui/table.tsx'
import { CopyAs } from '#web/shared/copy-as/copy-as.tsx'
import { type UpdateSearch, useSearch } from '#web/shared/scope/scope.ts'
import { StartHere } from '#web/shared/scope/start-here.tsx'
import { useOrganizationId, useOrganizations } from '#web/shared/scope/tree.ts'
import classes from './audit.module.css'
import { EntryDialog } from './entry-dialog.tsx'
import { describeEntry } from './entry-text.ts'
import { FilterBar } from './filter-bar.tsx'
import { type AuditFilters, exportPath, isFiltered, readAuditFilters, toAuditQuery } from './filters.ts'
import { useAuditPage } from './use-audit.ts'

export default function AuditPage() {
  const [search, change] = useSearch()
  const { isInstanceAdmin } = useSession()
  const organizationId = useOrganizationId()
  const filters = readAuditFilters(search)
  const hasNoOrganization = useOrganizations().data?.length === 0
  if (isInstanceAdmin && (filters.isEverything || hasNoOrganization))
    return <AuditLog organizationId={null} filters={{ ...filters, isEverything: true }} change={change} />
  if (organizationId !== undefined)
    return (
      <OrganizationLog
        organizationId={organizationId}
        filters={{ ...filters, isEverything: false }}
        change={change}
      />
    )
  return (
    <>
      <PageHeader title="Audit" />
      <StartHere
        icon={ScrollText}
        title="No entries yet"
        text="Every change in an organization leaves an entry here."
        needs="organization"
      />
    </>
  )
}

type LogProps = { filters: AuditFilters; change: UpdateSearch }

function OrganizationLog({ organizationId, ...rest }: LogProps & { organizationId: number }) {
  const { allowed, reason } = usePermission('organization:edit', { organization: organizationId })
  const { isInstanceAdmin } = useSession()
  if (allowed) return <AuditLog organizationId={organizationId} {...rest} />
  return (
    <>
      <PageHeader title="Audit" />
      {reason.startsWith('Checking') ? (
        <Loading what="permissions" />
      ) : (
        <>
          {isInstanceAdmin && <FilterBar organizationId={organizationId} {...rest} />}
          <EmptyState icon={ShieldAlert} title="You cannot read this audit log">
            {reason}
          </EmptyState>
        </>
      )}
    </>
  )
}

function AuditLog({ organizationId, filters, change }: LogProps & { organizationId: number | null }) {
  const query = toAuditQuery(filters, Date.now())
  const entries = useAuditPage(organizationId, query, filters.page)
  const path = organizationId === null ? '/audit' : `/organizations/${organizationId}/audit`
  return (
    <>
      <PageHeader title="Audit">
        <Group gap="sm">
          <CopyAs command={`gantry api GET ${path} --paginate`} curl={{ method: 'GET', path }} />
          <Button
            component="a"
            variant="default"
            href={exportPath(organizationId, query)}
            download="audit.ndjson"
            leftSection={<Download size={16} strokeWidth={1.75} aria-hidden="true" />}
          >
            Export
          </Button>
        </Group>
      </PageHeader>
      <FilterBar organizationId={organizationId} filters={filters} change={change} />
      <Loaded query={entries} what="audit entries">
        {({ items, total, hasNext }) =>
          items.length === 0 && filters.page === 1 ? (
            <EmptyState icon={ScrollText} title={isFiltered(filters) ? 'Nothing matches' : 'No entries yet'}>
              {isFiltered(filters)
                ? 'No entry of the audit log matches these filters.'
                : 'Every change leaves an entry here.'}
            </EmptyState>
          ) : (
            <>
              <Entries items={items} isEverything={organizationId === null} />
              <Pager
                label="Pages of the audit log"
                page={filters.page}
                total={total}
                hasNext={hasNext}
                go={(page) => change({ page: page === 1 ? undefined : page })}
              />
            </>
          )
        }
      </Loaded>
    </>
  )
}

function Entries({ items, isEverything }: { items: AuditEntry[]; isEverything: boolean }) {
  const [open, setOpen] = useState<AuditEntry>()
  const organizations = useOrganizations().data
  const organizationOf = ({ organization_id: id }: AuditEntry) =>
    id === null ? undefined : (organizations?.find((one) => one.id === id)?.name ?? `Organization ${id}`)
  const organization: Column<AuditEntry> = [
    'Organization',
    undefined,
    (entry) => organizationOf(entry) ?? <span className="dimmed">–</span>,
  ]
  return (
    <>
      <RowTable
        label="Audit entries"
        rows={items}
        highlightOnHover
        columns={[
          [
            'Change',
            classes.change,
            (entry) => (
              <Anchor component="button" size="sm" onClick={() => setOpen(entry)}>
                {describeEntry(entry)} <strong>{entry.subject_name}</strong>
              </Anchor>
            ),
          ],
          [
            'Person',
            undefined,
            ({ user }) =>
              user ? (
                <span title={user.email}>{user.name}</span>
              ) : (
                <span className="dimmed">Not signed in</span>
              ),
          ],
          ...(isEverything ? [organization] : []),
          [
            'Time',
            'numeric',
            ({ occurred_at }) => <time dateTime={occurred_at}>{formatDateTime(occurred_at)}</time>,
          ],
          ['IP address', 'numeric dimmed', ({ ip_address }) => ip_address],
        ]}
      />
      {open && (
        <EntryDialog entry={open} organization={organizationOf(open)} close={() => setOpen(undefined)} />
      )}
    </>
  )
}
