import { kindOf, valueText } from './json-nodes.ts'
import type { JsonRow } from './json-rows.ts'
import classes from './json-tree.module.css'

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

export function TreeRow({ id, row, top, isSelected, select, toggle }: TreeRowProps) {
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
