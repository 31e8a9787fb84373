// Generated histories whose generator knows what is between two commits of each: merges, reverts, force-pushes, renames
// with and without edits. It keeps its own graph and its own folders; git only gets what `fast-import` reads.
import type { ChangedFile } from './compared-lists.ts'

/** Path → the file. Files with one `id` have most lines in common, others none. */
type Folder = Map<string, { id: number; version: number }>

type Node = { mark: number; parents: Node[]; folder: Folder; time: number; subject: string; author: string }

export type ExpectedCommit = Pick<Node, 'mark' | 'subject' | 'author' | 'time'>

export type History = {
  branch: string
  /** Marks of fast-import. */
  from: number
  to: number
  commits: ExpectedCommit[]
  removedCommits: ExpectedCommit[]
  files: ChangedFile[]
  rewritten: boolean
}

const START = 1_700_000_000
const NAMES = [
  'plain',
  'with space',
  'line\nbreak',
  'quote"s',
  "apostrophe's",
  'tab\tbed',
  'ünïcode',
  '-dash',
]

export function generateHistories(
  count: number,
  random: () => number,
): { stream: string; histories: History[] } {
  let lastMark = 0
  let lastFile = 0
  const stream: string[] = []
  const below = (limit: number) => Math.floor(random() * limit)
  const pick = <Item>(items: Item[]): Item => items[below(items.length)]!

  function commit(branch: string, parents: Node[], folder: Folder, verb: string): Node {
    lastMark += 1
    const subject = `${verb} "${lastMark}" <&> ${pick(NAMES).replace(/\s/g, ' ')}`
    const node = {
      mark: lastMark,
      parents,
      folder,
      time: START + lastMark,
      subject,
      author: pick(['Zoë', 'O\'Neil "x"']),
    }
    stream.push(describe(branch, node))
    return node
  }

  /** One to three changes: a file is added, edited, removed, moved, or moved and edited. */
  function change(folder: Folder): Folder {
    const next = new Map(folder)
    for (let left = 1 + below(3); left > 0; left -= 1) {
      const paths = [...next.keys()]
      const kind = paths.length < 3 ? 'add' : pick(['add', 'edit', 'edit', 'remove', 'move', 'move-edited'])
      if (kind === 'add') next.set(newPath(), { id: ++lastFile, version: 1 })
      else {
        const path = pick(paths)
        const file = next.get(path)!
        if (kind !== 'edit') next.delete(path)
        if (kind !== 'remove') {
          const version = kind === 'move' ? file.version : file.version + 1
          next.set(kind === 'edit' ? path : newPath(), { id: file.id, version })
        }
      }
    }
    return next
  }

  const newPath = () => `${pick(['api', 'web', 'docs/deep'])}/${pick(NAMES)}-${below(12)}-${lastMark}.txt`

  function grow(branch: string, tip: Node, length: number): Node {
    let node = tip
    for (let left = length; left > 0; left -= 1) node = commit(branch, [node], change(node.folder), 'Change')
    return node
  }

  function generate(index: number): History {
    const branch = `history-${index}`
    let base = commit(branch, [], change(new Map()), 'Begin')
    base = grow(branch, base, 1 + below(3))
    let from = base
    let to = base
    switch (pick(['forward', 'merge', 'revert', 'force-push', 'reset', 'back', 'same'])) {
      case 'forward':
        to = grow(branch, base, 1 + below(6))
        break
      case 'merge': {
        const side = grow(branch, base, 1 + below(3))
        from = grow(branch, base, below(3))
        const main = grow(branch, from, below(2))
        to = commit(branch, [main, side], mergeOf(main.folder, side.folder), 'Merge')
        to = grow(branch, to, below(2))
        break
      }
      case 'revert': {
        const changed = grow(branch, base, 1)
        to = commit(branch, [changed], base.folder, 'Revert')
        break
      }
      case 'force-push':
        from = grow(branch, base, 1 + below(4))
        to = grow(branch, base, 1 + below(4))
        break
      case 'reset':
        from = grow(branch, base, 1 + below(4))
        break
      case 'back': {
        from = grow(branch, base, 1 + below(4))
        // The branch stays where it is: the next deploy goes back.
        stream.push(`reset refs/heads/${branch}\nfrom :${from.mark}\n\n`)
        return { branch, ...answer(from, to), rewritten: false }
      }
    }
    stream.push(`reset refs/heads/${branch}\nfrom :${to.mark}\n\n`)
    const rewritten = !ancestors(to).has(from)
    return { branch, ...answer(from, to), rewritten }
  }

  const histories = Array.from({ length: count }, (_, index) => generate(index))
  return { stream: `${stream.join('')}done\n`, histories }
}

/** Everything of one side, and what the other has at paths and with ids that the first lacks. */
function mergeOf(main: Folder, side: Folder): Folder {
  const ids = new Set([...main.values()].map(({ id }) => id))
  return new Map([...[...side].filter(([path, { id }]) => !main.has(path) && !ids.has(id)), ...main])
}

function answer(from: Node, to: Node) {
  return {
    from: from.mark,
    to: to.mark,
    commits: only(to, from),
    removedCommits: only(from, to),
    files: changedFiles(from.folder, to.folder),
  }
}

function ancestors(node: Node, found = new Set<Node>()): Set<Node> {
  if (found.has(node)) return found
  found.add(node)
  for (const parent of node.parents) ancestors(parent, found)
  return found
}

function only(one: Node, other: Node): ExpectedCommit[] {
  const excluded = ancestors(other)
  return [...ancestors(one)]
    .filter((node) => !excluded.has(node))
    .sort((a, b) => b.mark - a.mark)
    .map(({ mark, subject, author, time }) => ({ mark, subject, author, time }))
}

function changedFiles(from: Folder, to: Folder): ChangedFile[] {
  const gone = new Map([...from].filter(([path]) => !to.has(path)).map(([path, { id }]) => [id, path]))
  const files: ChangedFile[] = []
  for (const [path, file] of to) {
    const before = from.get(path)
    const old_path = before ? undefined : gone.get(file.id)
    if (before && (before.id !== file.id || before.version !== file.version))
      files.push({ path, status: 'modified', old_path: null })
    else if (old_path !== undefined) files.push({ path, status: 'renamed', old_path })
    else if (!before) files.push({ path, status: 'added', old_path: null })
    if (old_path !== undefined) gone.delete(file.id)
  }
  for (const path of gone.values()) files.push({ path, status: 'deleted', old_path: null })
  return files
}

function describe(branch: string, { mark, parents, folder, time, subject, author }: Node): string {
  const who = `${author} <someone@example.com> ${time} +0000`
  const [first, ...others] = parents
  const lines = [
    // Without a parent the branch begins anew.
    ...(first ? [] : [`reset refs/heads/${branch}\n`]),
    `commit refs/heads/${branch}\nmark :${mark}\nauthor ${who}\ncommitter ${who}\n${data(`${subject}\n\nMore.`)}`,
    first ? `from :${first.mark}\n` : '',
    ...others.map((other) => `merge :${other.mark}\n`),
    'deleteall\n',
    ...[...folder].map(([path, file]) => `M 100644 inline ${quote(path)}\n${data(contentOf(file))}`),
  ]
  return lines.join('')
}

function contentOf({ id, version }: { id: number; version: number }): string {
  const lines = Array.from(
    { length: 20 },
    (_, line) => `${(id * 7_919 + line * 104_729).toString(36)} of file ${id}`,
  )
  return `${lines.join('\n')}\nversion ${version}\n`
}

const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`

function quote(path: string): string {
  const escaped = path.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n').replace(/\t/g, '\\t')
  return `"${escaped}"`
}
