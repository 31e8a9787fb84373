// A JSON value as a tree: only the rows in sight are rendered, so that a megabyte is as quick as a line.
import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type ReactNode, useId, useMemo, useRef, useState } from 'react'
import { hookPath, type JsonKind, type JsonPick, kindOf, parseJson, valueText } from './json-nodes.ts'
import { ancestorIds, type JsonRow, ROOT_ID, rowId, visibleRows } from './json-rows.ts'
import classes from './json-tree.module.css'
import { PlainText, SelectedValue } from './selected-value.tsx'
import { nextRow } from './tree-keys.ts'
import { TreeSearch } from './tree-search.tsx'

type JsonTreeProps = {
  label?: string
  /** The text as received, whose numbers are shown digit by digit. */
  text?: string | undefined
  /** Or a value. */
  value?: unknown
  onPick?: ((path: string, value: unknown, type: JsonKind) => void) | undefined
  /** What can be done with the selected value; otherwise a button that picks it. */
  actions?: ((pick: JsonPick) => ReactNode) | undefined
}

export function JsonTree({ text, value, ...rest }: JsonTreeProps) {
  const parsed = useMemo(
    () => (text === undefined ? ({ kind: 'json', value } as const) : parseJson(text)),
    [text, value],
  )
  if (parsed.kind === 'text') return <PlainText label={rest.label} text={text ?? ''} />
  return <Tree root={parsed.value} {...rest} />
}

const ROW_HEIGHT = 24

type TreeProps = Omit<JsonTreeProps, 'text' | 'value'> & { root: unknown }

function Tree({ root, label = 'JSON', onPick, actions }: TreeProps) {
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(() => initiallyExpanded(root))
  const rows = useMemo(() => visibleRows(root, expanded), [root, expanded])
  const [selectedId, select] = useState(ROOT_ID)
  const index = Math.max(
    0,
    rows.findIndex(({ id }) => id === selectedId),
  )
  const selected = rows[index]!
  const frame = useRef<HTMLDivElement>(null)
  const id = useId()
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
  })

  function toggle(row: JsonRow): void {
    if (row.isExpanded === undefined) return
    const next = new Set(expanded)
    if (!next.delete(row.id)) next.add(row.id)
    setExpanded(next)
  }

  function goTo(keys: readonly string[]): void {
    const next = new Set([...expanded, ...ancestorIds(keys)])
    setExpanded(next)
    select(rowId(keys))
    const at = visibleRows(root, next).findIndex((row) => row.id === rowId(keys))
    // The rows are there after the next render.
    requestAnimationFrame(() => virtual.scrollToIndex(at, { align: 'center' }))
  }

  function onKeyDown(event: KeyboardEvent): void {
    const move = nextRow(rows, index, event.key)
    if (event.key === 'Enter' && onPick && selected.keys.length > 0) pick(selected)
    else if (event.key === ' ' || event.key === 'Enter') toggle(selected)
    else if (move === undefined) return
    else if (move === 'toggle') toggle(selected)
    else {
      select(rows[move]!.id)
      virtual.scrollToIndex(move)
    }
    event.preventDefault()
  }

  function pick(row: JsonRow): void {
    onPick?.(hookPath(row.keys), row.value, kindOf(row.value))
  }

  return (
    <div>
      <TreeSearch root={root} goTo={goTo} />
      <div
        ref={frame}
        className={classes.frame}
        role="tree"
        aria-label={label}
        tabIndex={0}
        aria-activedescendant={`${id}-${index}`}
        onKeyDown={onKeyDown}
      >
        <div className={classes.rows} role="none" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index]!
            return (
              <TreeRow
                key={row.id}
                id={`${id}-${item.index}`}
                row={row}
                top={item.start}
                isSelected={item.index === index}
                select={() => select(row.id)}
                toggle={() => toggle(row)}
              />
            )
          })}
        </div>
      </div>
      {selected.keys.length > 0 && (
        <SelectedValue row={selected} actions={actions} pick={onPick && (() => pick(selected))} />
      )}
    </div>
  )
}

/** The root and, if that does not fill the frame, what is in it. */
function initiallyExpanded(root: unknown): ReadonlySet<string> {
  const rows = visibleRows(root, new Set([ROOT_ID]))
  return new Set(rows.length > 12 ? [ROOT_ID] : rows.map(({ id }) => id))
}

type TreeRowProps = {
  id: string
  row: JsonRow
  top: number
  isSelected: boolean
  select(): void
  toggle(): void
}

/** What a row shows of a long text; the rest is in sight when it is selected. */
const MAX_TEXT = 300

function TreeRow({ id, row, top, isSelected, select, toggle }: TreeRowProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree takes the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus and names this row
    <div
      id={id}
      role="treeitem"
      className={classes.row}
      aria-level={row.level}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-expanded={row.isExpanded}
      aria-selected={isSelected}
      style={{
        transform: `translateY(${top}px)`,
        paddingLeft: `${(Math.min(row.level, 24) - 1) * 16 + 4}px`,
      }}
      onClick={(event) => {
        select()
        const isChevron = (event.target as Element).classList.contains(classes.chevron!)
        if (isChevron || isSelected || row.keys.length === 0) toggle()
      }}
    >
      <span className={classes.chevron} aria-hidden="true" data-expanded={row.isExpanded} />
      {row.keys.length > 0 && <span className={classes.name}>{row.name === '' ? '""' : row.name}</span>}
      <span className={classes.value} data-kind={kindOf(row.value)}>
        {valueText(row.value).slice(0, MAX_TEXT)}
      </span>
    </div>
  )
}
