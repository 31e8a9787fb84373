// Where a code editor offers names. Pure.

export type Language = 'bash' | 'json' | 'liquid-json' | 'liquid' | 'yaml' | 'text'

/** The longest expression that is looked at: an opening bracket further back has nothing to do with the cursor. */
const REACH = 2_000

/**
 * Where the name before the cursor starts, or undefined where none is offered: Liquid has names inside of `{{ … }}`
 * and `{% … %}` only, bash after a dollar sign. `isExplicit`: the person asked for names.
 */
export function completionStart(before: string, language: Language, isExplicit = false): number | undefined {
  const name = /[\w.]*$/.exec(before)![0]
  const start = before.length - name.length
  if (language === 'liquid' || language === 'liquid-json') return isInsideLiquid(before) ? start : undefined
  if (language === 'bash') return /\$\{?$/.test(before.slice(0, start)) ? start : undefined
  return name !== '' || isExplicit ? start : undefined
}

function isInsideLiquid(before: string): boolean {
  const near = before.slice(-REACH)
  return near.lastIndexOf('{{') > near.lastIndexOf('}}') || near.lastIndexOf('{%') > near.lastIndexOf('%}')
}
