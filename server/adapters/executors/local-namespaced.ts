import { atMost } from './at-most.ts'
import { createLauncher } from './launcher.ts'
import type { LocalTools, LocalWay, SwitchTo } from './local-tools.ts'
import { createPipeMaker } from './pipes.ts'

// Even SIGKILL does not end a process that hangs in the kernel. A command is not held up by one for longer.
const GIVE_UP_AFTER_MS = 10_000

/** Each command in a process namespace of its own. Whether this machine allows it is found out by trying. */
export function createNamespacedWay(tools: LocalTools): LocalWay {
  const launcher = createLauncher(tools)
  const pipes = createPipeMaker(launcher.makeFifos)
  return {
    async launch({ switchTo, environment }) {
      const { stdin, stdout, commandStdin, commandStdout, handedOver } = await pipes.take()
      const { ended, terminate, kill } = launcher.launch({
        stdin: commandStdin,
        stdout: commandStdout,
        environment,
        identity: identity(tools, switchTo),
      })
      let said = ''
      const end = ended.then((report) => {
        said = report.said
        handedOver()
        return report.end
      })
      return {
        stdin,
        stdout,
        ended: end,
        onStarted: handedOver,
        complaint: () => said,
        async terminate() {
          terminate()
          await end
        },
        async kill() {
          kill()
          await atMost(GIVE_UP_AFTER_MS, end)
        },
      }
    },
    async close() {
      await pipes.close()
      await launcher.close()
    },
  }
}

/** nsenter drops all supplementary groups when it switches; setpriv can take those of the account. */
function identity(tools: LocalTools, switchTo: SwitchTo | null): string[] {
  if (!switchTo) return []
  const { uid, gid, groups } = switchTo
  return groups
    ? [tools.setpriv, `--reuid=${uid}`, `--regid=${gid}`, '--init-groups']
    : [`--setuid=${uid}`, `--setgid=${gid}`]
}
