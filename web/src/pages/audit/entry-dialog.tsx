import { DataList, Stack, Table } from '@mantine/core'
import { Link } from 'wouter'
import type { AuditEntry } from '#web/base/api/types.ts'
import { labelOf } from '#web/base/form/changes.ts'
import { Dialog } from '#web/base/ui/dialog.tsx'
import { formatDateTime } from '#web/base/ui/format.ts'
import { Dimmed, Fact } from '#web/base/ui/parts.tsx'
import classes from './audit.module.css'
import { compareValues, type FieldChange, referencedType } from './compare-values.ts'
import { describeEntry, kindLabel, pageOf } from './entry-text.ts'
import { useEntryNames } from './use-audit.ts'

type EntryDialogProps = { entry: AuditEntry; organization: string | undefined; close(): void }

export function EntryDialog({ entry, organization, close }: EntryDialogProps) {
  const nameOf = useEntryNames(entry)
  const { changed, unchanged } = compareValues(entry.before, entry.after, (field, id) => {
    const type = referencedType(field)
    return type && nameOf(type, id)
  })
  const { user, subject_type, subject_id, subject_name, occurred_at, ip_address, request_id } = entry
  const page = pageOf(entry)
  const nameNow = nameOf(subject_type, subject_id)
  return (
    <Dialog title={describeEntry(entry)} size="xl" close={close}>
      <Stack gap="md">
        <DataList orientation="vertical" className="columns">
          <Fact label={labelOf(kindLabel(subject_type))}>
            {page !== undefined && nameNow !== undefined ? (
              <Link href={page} onClick={close}>
                {subject_name}
              </Link>
            ) : (
              subject_name
            )}
            {nameNow !== undefined && nameNow !== subject_name && (
              <span className="dimmed"> (now {nameNow})</span>
            )}
            <span className="dimmed"> #{subject_id}</span>
          </Fact>
          <Fact label="By">{user ? `${user.name} (${user.email})` : 'Not signed in'}</Fact>
          <Fact label="Time">
            <time dateTime={occurred_at}>{formatDateTime(occurred_at)}</time>
          </Fact>
          <Fact label="IP address">{ip_address}</Fact>
          <Fact label="Organization">{organization}</Fact>
          <Fact label="Request">{request_id && <code>{request_id}</code>}</Fact>
        </DataList>
        {changed.length > 0 && <Changes changes={changed} label="Changed fields" />}
        {changed.length + unchanged.length === 0 && <Dimmed>No values were recorded.</Dimmed>}
        {unchanged.length > 0 && (
          <details>
            <summary>
              {unchanged.length === 1 ? '1 unchanged field' : `${unchanged.length} unchanged fields`}
            </summary>
            <Changes changes={unchanged} label="Unchanged fields" />
          </details>
        )}
      </Stack>
    </Dialog>
  )
}

function Changes({ changes, label }: { changes: FieldChange[]; label: string }) {
  const hasBefore = changes.some(({ before }) => before !== undefined)
  const hasAfter = changes.some(({ after }) => after !== undefined)
  return (
    // What scrolls must be reachable by keyboard.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <div className="table-frame" tabIndex={0}>
      <Table aria-label={label} fz="sm" className={classes.values}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">Field</Table.Th>
            {hasBefore && <Table.Th scope="col">Before</Table.Th>}
            {hasAfter && <Table.Th scope="col">After</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {changes.map(({ field, before, after }) => (
            <Table.Tr key={field}>
              <Table.Th scope="row">
                <code>{field}</code>
              </Table.Th>
              {hasBefore && <Value text={before} />}
              {hasAfter && <Value text={after} />}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  )
}

function Value({ text }: { text: string | undefined }) {
  return <Table.Td>{text === undefined ? <span className="dimmed">–</span> : text}</Table.Td>
}
