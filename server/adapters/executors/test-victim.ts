// A Gantry that is killed in the middle of a command: `startVictim` runs it as a separate process.
import { connectSsh } from './ssh-connect.ts'
import { openLocal, run, START_DAEMONS, type VictimPlan } from './test-commands.ts'

let text = ''
for await (const chunk of process.stdin) text += chunk
const plan: VictimPlan = JSON.parse(text)
await run(await open(), `trap '' TERM; ${START_DAEMONS} while :; do sleep 1000; done`, {
  environment: { TOKEN: plan.token },
  onOutput: (chunk) => void process.stdout.write(chunk),
})

async function open() {
  if (plan.kind === 'local') return openLocal({ containment: plan.containment })
  const connection = await connectSsh({ ...plan.server, onNewHostKey: async () => {} })
  if (connection.kind !== 'connected') throw new Error(`not connected: ${JSON.stringify(connection)}`)
  return connection.executor
}
