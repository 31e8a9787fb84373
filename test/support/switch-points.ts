// Programs that a server has before the real ones in its PATH, and that stop a deploy at a point around its switch.
import { existsSync } from 'node:fs'
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { later } from './later.ts'
import { until } from './until.ts'

type Closer = { after(fn: () => Promise<void>): void }

/**
 * Of the step that activates: before it has the lock, before the mark is written, before the link is made, before and after
 * it is moved to `current`. Of the step that reverts: before and after the link is moved.
 */
export type SwitchPoint = 'lock' | 'mark' | 'link' | 'before' | 'after' | 'revert-before' | 'revert-after'

/** Bash: waits at the point that is armed for the application, once. */
const WAIT = `
wait_at() {
  [[ -e $GANTRY_BASE/.point && $(<"$GANTRY_BASE/.point") == "$1" ]] || return 0
  rm -f -- "$GANTRY_BASE/.point"
  echo $$ > "$GANTRY_BASE/.reached"
  # Twenty of them wait at a time: a read that finds nothing takes no other program.
  exec {nothing}<> <(:)
  for (( n = 0; n < 3000; n++ )); do [[ -e $GANTRY_BASE/.go ]] && break; read -rt 0.1 -u $nothing; done
  exec {nothing}>&-
}
[[ -n \${GANTRY_BASE:-} ]] || exec "$real" "$@"
# Only commands that switch run behind a release that exists.
activates() { [[ -n \${GANTRY_RELEASE:-} && -d $GANTRY_BASE/releases/$GANTRY_RELEASE && -z \${GANTRY_BEFORE:-} ]]; }
last=\${!#}
`

const PROGRAMS: Record<string, string> = {
  flock: 'activates && wait_at lock; exec "$real" "$@"',
  mkdir: 'activates && wait_at mark; exec "$real" "$@"',
  ln: '[[ $last == */.gantry/next ]] && wait_at link; exec "$real" "$@"',
  mv: `if [[ $last != "$GANTRY_BASE/current" ]]; then exec "$real" "$@"; fi
if activates; then point=; else point=revert-; fi
wait_at "\${point}before"
"$real" "$@"; code=$?
wait_at "\${point}after"
exit $code`,
}

export async function installSwitchPoints(t: Closer, folder: string) {
  const programs = join(folder, 'switch-points')
  await mkdir(programs)
  await chmod(programs, 0o755)
  for (const [name, text] of Object.entries(PROGRAMS)) {
    const path = join(programs, name)
    await writeFile(path, `#!/bin/bash\nreal=/usr/bin/${name}\n${WAIT}${text}\n`)
    await chmod(path, 0o755)
  }
  const file = (base: string, name: string) => join(base, name)
  const bases = new Set<string>()
  later(t, async () => {
    for (const base of bases) await writeFile(file(base, '.go'), '').catch(() => {})
  })
  return {
    path: `${programs}:/usr/local/bin:/usr/bin:/bin`,
    /** The next deploy to this folder stops there. */
    async arm(base: string, point: SwitchPoint): Promise<void> {
      bases.add(base)
      for (const name of ['.go', '.reached']) await rm(file(base, name), { force: true })
      await writeFile(file(base, '.point'), point)
      await chmod(file(base, '.point'), 0o666)
    },
    reached: (base: string) =>
      until(`${base} has reached its point`, 60_000, () => existsSync(file(base, '.reached'))),
    async release(shops: readonly { base: string }[]): Promise<void> {
      for (const { base } of shops) await writeFile(file(base, '.go'), '')
    },
  }
}
