// Tables.
import { Paper, Table, type TableProps } from '@mantine/core'
import { type ReactNode, type Ref, useEffect, useRef, useState } from 'react'
import tableClasses from './data-table.module.css'

/** Scrolls sideways where its table is too wide: then it can be focused, so that the arrow keys scroll it. */
export function TableFrame({ children }: { children: ReactNode }) {
  const frame = useRef<HTMLDivElement>(null)
  const [isScrollable, setScrollable] = useState(false)
  useEffect(() => {
    const element = frame.current
    if (!element) return
    const observer = new ResizeObserver(() => setScrollable(element.scrollWidth > element.clientWidth))
    for (const watched of [element, ...element.children]) observer.observe(watched)
    return () => observer.disconnect()
  }, [])
  return (
    <Paper ref={frame} withBorder className="table-frame" tabIndex={isScrollable ? 0 : undefined}>
      {children}
    </Paper>
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

/** `className` is that of its cells. */
export type Column<Row> = [title: string, className: string | undefined, cell: (row: Row) => ReactNode]

type RowTableProps<Row> = Pick<DataTableProps, 'highlightOnHover'> & {
  label: string
  columns: Column<Row>[]
  rows: readonly Row[]
  /** In its place while there are none. */
  empty?: ReactNode
}

/** A table of records, column by column. */
export function RowTable<Row extends { id: string | number }>(props: RowTableProps<Row>) {
  const { label, columns, rows, empty, ...rest } = props
  if (rows.length === 0 && empty !== undefined) return empty
  return (
    <DataTable columns={columns.map(([title]) => title)} aria-label={label} {...rest}>
      {rows.map((row) => (
        <Table.Tr key={row.id}>
          {columns.map(([title, className, cell]) => (
            <Table.Td key={title} className={className}>
              {cell(row)}
            </Table.Td>
          ))}
        </Table.Tr>
      ))}
    </DataTable>
  )
}
