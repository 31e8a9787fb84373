const WIDTH = 60

/** A JSON value as a TypeScript expression, on one line where it fits. Undefined fields are left out. */
export function typescriptLiteral(value: unknown, indent = ''): string {
  if (typeof value === 'string') return stringLiteral(value)
  if (value === null || typeof value !== 'object') return String(value)
  const isArray = Array.isArray(value)
  const [start, end] = isArray ? ['[', ']'] : ['{', '}']
  const inner = `${indent}  `
  const parts = isArray
    ? value.map((one) => typescriptLiteral(one, inner))
    : Object.entries(value)
        .filter(([, one]) => one !== undefined)
        .map(([key, one]) => `${keyLiteral(key)}: ${typescriptLiteral(one, inner)}`)
  if (parts.length === 0) return start + end
  const space = isArray ? '' : ' '
  const short = `${start}${space}${parts.join(', ')}${space}${end}`
  if (indent.length + short.length <= WIDTH && !short.includes('\n')) return short
  return `${start}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${end}`
}

function keyLiteral(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : stringLiteral(key)
}

/** In single quotes, unless that takes escapes that double quotes do not. */
function stringLiteral(text: string): string {
  const json = JSON.stringify(text)
  if (text.includes("'")) return json
  return `'${json.slice(1, -1).replaceAll('\\"', '"')}'`
}
