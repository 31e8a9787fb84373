// What a view hides, in the words of view.sh; `hidden.ts` decides what that is. A view is a mount namespace that a launcher
// keeps open. Servers that see the same files share one.

import type { View } from './hidden.ts'
import type { Launcher } from './launcher.ts'
import { isRoot } from './local-backend.ts'

export type ViewProblem = { problem: string }

/** Equal for views that show the same: the root may be deleted and created again. */
export function viewKey(view: View, asRoot: boolean): string {
  return JSON.stringify([viewWords(view, asRoot), view.root?.id])
}

/** Resolves with the number of the view. `asRoot`: for commands of root. */
export function makeView(launcher: Launcher, view: View, asRoot: boolean): Promise<number | ViewProblem> {
  return new Promise((resolve) => {
    launcher.order('view', viewWords(view, asRoot), (report) => {
      if (!report) resolve({ problem: 'the launcher of local commands was killed' })
      else if (report.number !== 0) resolve({ problem: report.rest || 'the kernel does not allow it' })
      else resolve(report.id)
    })
  })
}

function viewWords({ hidden, root }: View, asRoot: boolean): string[] {
  const kindOf = ({ isFolder, isAlias }: View['hidden'][number]) =>
    isAlias ? 'alias' : isFolder ? 'folder' : 'file'
  return [
    ...[asRoot ? 'root' : 'account', root?.source ?? '', root?.path ?? ''],
    ...hidden.flatMap((one) => [kindOf(one), one.id, one.path]),
  ]
}

/**
 * Settings of the kernel that a command could change. Under an ordinary account they are those of the sandbox, and the next
 * command would find them changed.
 */
export function readOnlyFiles(asRoot: boolean): string[] {
  if (asRoot) return ['/proc/sys', '/proc/sysrq-trigger']
  return isRoot() ? [] : ['/proc/sys']
}
