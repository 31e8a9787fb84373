import type { Variables } from './extract-variables.ts'

export type Source = { source_type: 'branch' | 'tag' | 'commit'; source_ref: string }

/** The source of a deploy, from the variables of a call: commit before tag before branch before source_ref. */
export function chooseSource(variables: Variables, defaultBranch: string): Source {
  const commit = textOf(variables, 'commit')
  if (commit) return { source_type: 'commit', source_ref: commit }
  const tag = textOf(variables, 'tag')
  if (tag) return { source_type: 'tag', source_ref: withoutPrefix(tag) }
  const branch = textOf(variables, 'branch')
  if (branch) return fromRef(branch, 'branch')
  const ref = textOf(variables, 'source_ref')
  if (ref) return fromRef(ref, textOf(variables, 'source_type') ?? 'branch')
  return { source_type: 'branch', source_ref: defaultBranch }
}

/** A full ref says what it is: pushes of tags and of branches arrive in the same field. */
function fromRef(ref: string, type: string): Source {
  if (ref.startsWith('refs/tags/')) return { source_type: 'tag', source_ref: withoutPrefix(ref) }
  if (ref.startsWith('refs/heads/')) return { source_type: 'branch', source_ref: withoutPrefix(ref) }
  return { source_type: type === 'tag' || type === 'commit' ? type : 'branch', source_ref: ref }
}

function withoutPrefix(ref: string): string {
  return ref.replace(/^refs\/(heads|tags)\//, '')
}

function textOf(variables: Variables, name: string): string | undefined {
  const key = Object.keys(variables).find((one) => one.toLowerCase() === name)
  const value = key === undefined ? undefined : variables[key]
  return value === undefined || value === '' || typeof value === 'object' ? undefined : String(value)
}
