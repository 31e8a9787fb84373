/** How every icon next to text is drawn: `<Trash2 {...ICON} />`. */
export const ICON = { size: 16, strokeWidth: 1.75, 'aria-hidden': true } as const
