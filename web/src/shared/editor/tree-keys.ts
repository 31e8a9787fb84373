// Where keys lead in a tree, by the tree pattern of ARIA. Pure.
type Row = { level: number; isExpanded: boolean | undefined }

const PAGE = 15

/** The index of the row to select, `toggle` to expand or collapse this one, or undefined: not a key of trees. */
export function nextRow(rows: readonly Row[], index: number, key: string): number | 'toggle' | undefined {
  const last = rows.length - 1
  switch (key) {
    case 'ArrowDown':
      return Math.min(index + 1, last)
    case 'ArrowUp':
      return Math.max(index - 1, 0)
    case 'Home':
      return 0
    case 'End':
      return last
    case 'PageDown':
      return Math.min(index + PAGE, last)
    case 'PageUp':
      return Math.max(index - PAGE, 0)
    case 'ArrowRight':
      if (rows[index]?.isExpanded === false) return 'toggle'
      return rows[index]?.isExpanded ? Math.min(index + 1, last) : index
    case 'ArrowLeft':
      return rows[index]?.isExpanded ? 'toggle' : parentOf(rows, index)
    default:
      return undefined
  }
}

function parentOf(rows: readonly Row[], index: number): number {
  for (let at = index - 1; at >= 0; at--) if (rows[at]!.level < rows[index]!.level) return at
  return index
}
