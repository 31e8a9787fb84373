import { Title } from '@mantine/core'
import type { Hook } from '../api-types.ts'
import { Command } from './command.tsx'
import classes from './hooks.module.css'

export function HookCommands({ hook }: { hook: Hook }) {
  const path = `/hooks/${hook.type}/${hook.id}`
  return (
    <section className={classes.section} aria-labelledby="commands">
      <Title order={2} size="h4" id="commands">
        Change and try it
      </Title>
      <p className="quiet">
        Hooks are managed through the API. Put a personal access token into <code>GANTRY_TOKEN</code>.
      </p>
      <h3>{hook.active ? 'Switch it off' : 'Switch it on'}</h3>
      <Command method="PUT" path={path} body={{ active: !hook.active }} />
      {hook.type === 'incoming' ? (
        <>
          <h3>Try a payload, without running anything</h3>
          <Command method="POST" path={`${path}/dry-run`} body={{ body: examplePayload(hook) }} />
        </>
      ) : (
        <>
          <h3>See what would be sent, without sending it</h3>
          <Command method="POST" path={`${path}/preview`} body={{}} />
          <h3>Send again what did not arrive in the last day</h3>
          <Command
            method="POST"
            path={`${path}/redeliver`}
            body={{ from: new Date(Date.now() - 86_400_000).toISOString(), only_failed: true }}
          />
        </>
      )}
      <h3>Give it a new secret</h3>
      <Command method="POST" path={`${path}/rotate-secret`} body={{}} />
    </section>
  )
}

const EXAMPLES: Record<string, unknown> = { string: 'text', integer: 1, boolean: true, array: [] }

/** The simple paths filled in; good enough to begin with. */
function examplePayload({ settings }: Hook): Record<string, unknown> {
  const variables = Array.isArray(settings.variables) ? settings.variables : []
  const payload = bare()
  for (const { name, path, type } of variables) {
    const keys = String(path ?? name).split('.')
    let at = payload
    for (const key of keys.slice(0, -1)) {
      at[key] ??= bare()
      at = at[key] as Record<string, unknown>
    }
    if (typeof at === 'object') at[keys.at(-1)!] = EXAMPLES[type] ?? 'text'
  }
  return payload
}

/** Without a prototype: a path may say `__proto__`. */
function bare(): Record<string, unknown> {
  return Object.create(null)
}
