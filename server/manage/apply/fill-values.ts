export type Filled =
  | { kind: 'filled'; text: string; used: string[] }
  | { kind: 'plain'; text: string }
  | { kind: 'faulty'; messages: string[] }

const PLACEHOLDER = /\$\$\{|\$\{(?:([A-Za-z_][A-Za-z0-9_]{0,63})\})?/g

/** `${NAME}` → what `values` says; `$${` → `${`. What is filled in is not looked at again. Pure. */
export function fillText(text: string, values: Readonly<Record<string, string>>): Filled {
  if (!text.includes('${')) return { kind: 'plain', text }
  const used: string[] = []
  const messages: string[] = []
  const filled = text.replaceAll(PLACEHOLDER, (found, name: string | undefined) => {
    if (found === '$${') return '${'
    if (name === undefined) messages.push(UNREADABLE)
    else if (!Object.hasOwn(values, name)) messages.push(`uses \${${name}}, which values does not have`)
    else {
      used.push(name)
      return values[name]!
    }
    return ''
  })
  if (messages.length > 0) return { kind: 'faulty', messages: [...new Set(messages)] }
  return used.length > 0 ? { kind: 'filled', text: filled, used } : { kind: 'plain', text: filled }
}

const UNREADABLE = `has \${ without a name and } after it: write $\${ for a \${ that is meant as it is`
