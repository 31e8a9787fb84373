// Small compositions of Mantine components that several pages share.
import {
  Badge,
  Button,
  type ButtonProps,
  DataList,
  Group,
  Modal,
  type ModalProps,
  Paper,
  Table,
  type TableProps,
  Text,
  Title,
  VisuallyHidden,
} from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import type { ReactNode, Ref } from 'react'
import { STATUSES } from '#client/index.ts'
import type { Hook } from '../api/types.ts'
import tableClasses from './data-table.module.css'
import { useLayer } from './layers.ts'
import { STATUS_ICONS, type Status } from './status.ts'
import classes from './status-badge.module.css'
import { TableFrame } from './table-frame.tsx'
import { useReturnFocus } from './use-return-focus.ts'

type SectionProps = {
  id: string
  title: ReactNode
  size?: 'h4' | 'h5'
  /** On the right of the title. */
  action?: ReactNode
  children: ReactNode
}

/** A part of a page with a heading. */
export function Section({ id, title, size = 'h4', action, children }: SectionProps) {
  return (
    <section aria-labelledby={id} className="section">
      <Group justify="space-between" gap="xs" mb="xs" wrap="nowrap">
        <Title order={2} size={size} id={id}>
          {title}
        </Title>
        {action}
      </Group>
      {children}
    </section>
  )
}

/** The same in a frame. */
export function SectionCard(props: SectionProps) {
  return (
    <Paper withBorder p="md">
      <Section size="h5" {...props} />
    </Paper>
  )
}

type FactProps = { label: string; className?: string | undefined; children: ReactNode }

/** A label and a value in a Mantine `DataList`; nothing without a value. */
export function Fact({ label, className, children }: FactProps) {
  if (!children) return null
  return (
    <DataList.Item className={className}>
      <DataList.ItemLabel>{label}</DataList.ItemLabel>
      <DataList.ItemValue className="wrap">{children}</DataList.ItemValue>
    </DataList.Item>
  )
}

/** Columns of buttons and menus: they say themselves what they do. */
const ACTION_COLUMNS = new Set(['', 'Actions', 'Request'])

type DataTableProps = Pick<TableProps, 'className' | 'aria-label' | 'highlightOnHover'> & {
  columns: string[]
  /** The rows. */
  children: ReactNode
  ref?: Ref<HTMLTableSectionElement>
}

/**
 * Rows become blocks on narrow pages, unless a `className` says how they look there; else it scrolls sideways in its
 * frame where it is too wide. `ref` is the table's body.
 */
export function DataTable({ columns, children, ref, ...rest }: DataTableProps) {
  return (
    <TableFrame>
      <Table
        horizontalSpacing="sm"
        className={tableClasses.stacked}
        data-actions={ACTION_COLUMNS.has(columns.at(-1)!) || undefined}
        style={Object.fromEntries(
          columns.map((name, index) => [`--column-${index + 1}`, JSON.stringify(name)]),
        )}
        {...rest}
      >
        <Table.Thead>
          <Table.Tr>
            {columns.map((column) => (
              <Table.Th key={column} scope="col">
                {column}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody ref={ref}>{children}</Table.Tbody>
      </Table>
    </TableFrame>
  )
}

type PagerProps = { label: string; page: number; total: string; hasNext: boolean; go(page: number): void }

/** `children` follow the buttons. */
export function Pager({ label, page, total, hasNext, go, children }: PagerProps & { children?: ReactNode }) {
  const isOnly = page === 1 && !hasNext
  return (
    <Group component="nav" gap="sm" mt="sm" aria-label={label}>
      {isOnly ? (
        <Text size="sm" className="numeric dimmed">
          {total} total
        </Text>
      ) : (
        <>
          <Button size="xs" variant="default" disabled={page === 1} onClick={() => go(page - 1)}>
            Newer
          </Button>
          <Text size="sm" className="numeric">
            Page {page} · {total} total
          </Text>
          <Button size="xs" variant="default" disabled={!hasNext} onClick={() => go(page + 1)}>
            Older
          </Button>
        </>
      )}
      {children}
    </Group>
  )
}

type DialogProps = Pick<ModalProps, 'title' | 'size' | 'centered' | 'children'> & {
  close(): void
  /** Only its own buttons close it, so that nothing is lost by a slip. */
  isPersistent?: boolean
}

/** Open for as long as it is rendered. Closing it returns the focus to where it was. */
export function Dialog({ close, isPersistent = false, ...rest }: DialogProps) {
  useReturnFocus()
  const isTop = useLayer()
  // Locking the scroll would inject a style element, which the content security policy blocks.
  return (
    <Modal
      {...rest}
      opened
      onClose={() => isTop() && close()}
      closeOnClickOutside={!isPersistent}
      closeOnEscape={!isPersistent}
      lockScroll={false}
      closeButtonProps={{ 'aria-label': 'Close' }}
    />
  )
}

type CopyButtonProps = Pick<ButtonProps, 'size' | 'disabled' | 'className'> & {
  text(): string
  /** Where a page has several: "Copy URL". */
  label?: string
}

export function CopyButton({ text, label, ...rest }: CopyButtonProps) {
  const { copy, copied, error } = useClipboard()
  // Browsers offer the clipboard only to pages from HTTPS or from this machine.
  if (!navigator.clipboard) return null
  const result = error ? 'Copy failed' : copied ? 'Copied' : ''
  return (
    <>
      <Button
        {...rest}
        variant="default"
        onClick={() => copy(text())}
        aria-label={result ? undefined : label}
      >
        {result || 'Copy'}
      </Button>
      <VisuallyHidden role="status">{result}</VisuallyHidden>
    </>
  )
}

type StatusBadgeProps = { status: Status; label?: string; icon?: string }

/** The status, or a more specific label in its color. */
export function StatusBadge({ status, label, icon = STATUS_ICONS[status] }: StatusBadgeProps) {
  return (
    // A variant that Mantine does not know leaves the colors to the style sheet.
    <Badge
      variant="status"
      size="lg"
      classNames={{ root: classes.badge!, label: classes.label! }}
      data-status={status}
      leftSection={<span aria-hidden="true">{icon}</span>}
    >
      {label || STATUSES[status]}
    </Badge>
  )
}

/** One truth about outgoing hooks: their health. Incoming hooks have none. */
export function HookBadge({ hook }: { hook: Pick<Hook, 'active' | 'disabled_at' | 'health'> }) {
  switch (hook.health?.state ?? (hook.active ? 'active' : 'inactive')) {
    case 'active':
      return <StatusBadge status="completed" label="Active" />
    case 'failing':
    case 'paused':
      return <StatusBadge status="failed" label="Failing" />
    case 'disabled':
      return <StatusBadge status="failed" label="Disabled" />
    case 'inactive':
      return <StatusBadge status="skipped" label="Paused" icon="–" />
  }
}
