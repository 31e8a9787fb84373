// A role's permissions as a table of checkboxes. It is one tab stop: the arrow keys move inside of it.
import { Checkbox, Table } from '@mantine/core'
import { type KeyboardEvent, useRef, useState } from 'react'
import classes from './members.module.css'
import {
  PERMISSION_TABLE,
  type Permission,
  permissionLabel,
  permissionOf,
  togglePermission,
  VERB_LABELS,
  VERBS,
} from './roles.ts'

type PermissionGridProps = {
  value: readonly Permission[]
  /** Without it, the table is only shown. */
  change?: (permissions: Permission[]) => void
  /** What the person may include. */
  isAllowed?(permission: Permission): boolean
}

type Cell = { row: number; column: number }

const MOVES: Record<string, Cell> = {
  ArrowUp: { row: -1, column: 0 },
  ArrowDown: { row: 1, column: 0 },
  ArrowLeft: { row: 0, column: -1 },
  ArrowRight: { row: 0, column: 1 },
}

export function PermissionGrid({ value, change, isAllowed = () => true }: PermissionGridProps) {
  const [stop, setStop] = useState<Cell>({ row: 0, column: 0 })
  const table = useRef<HTMLTableElement>(null)

  function move(event: KeyboardEvent): void {
    const step = MOVES[event.key]
    if (!step) return
    event.preventDefault()
    const next = nextCell(stop, step)
    setStop(next)
    table.current?.querySelector<HTMLElement>(`[data-cell="${next.row},${next.column}"]`)?.focus()
  }

  return (
    <div className="table-frame">
      <Table
        ref={table}
        role="grid"
        aria-label="Permissions"
        aria-readonly={change === undefined}
        className={classes.grid}
        fz="sm"
        withRowBorders={false}
        onKeyDown={move}
      >
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col" aria-label="Resource" />
            {VERBS.map((verb) => (
              <Table.Th key={verb} scope="col">
                {VERB_LABELS[verb]}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {PERMISSION_TABLE.map(({ resource, label, verbs }, row) => (
            <Table.Tr key={resource}>
              <Table.Th scope="row">{label}</Table.Th>
              {VERBS.map((verb, column) => {
                const permission = permissionOf(resource, verb)
                if (!verbs.includes(verb)) return <Table.Td key={verb} />
                return (
                  <Table.Td key={verb}>
                    <Checkbox
                      size="sm"
                      w="fit-content"
                      data-cell={`${row},${column}`}
                      aria-label={permissionLabel(resource, verb)}
                      checked={value.includes(permission)}
                      disabled={change === undefined || !isAllowed(permission)}
                      tabIndex={stop.row === row && stop.column === column ? 0 : -1}
                      onFocus={() => setStop({ row, column })}
                      onChange={() => change?.(togglePermission(value, permission))}
                    />
                  </Table.Td>
                )
              })}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  )
}

/** The next cell with a checkbox in that direction; the same one at the edge. */
function nextCell(from: Cell, step: Cell): Cell {
  for (
    let row = from.row + step.row, column = from.column + step.column;
    ;
    row += step.row, column += step.column
  ) {
    const verbs = PERMISSION_TABLE[row]?.verbs
    const verb = VERBS[column]
    if (!verbs || !verb) return from
    if (verbs.includes(verb)) return { row, column }
  }
}
