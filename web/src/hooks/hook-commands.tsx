// Commands that manage hooks through the API, ready to be copied.
import { Box, Code, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Hook } from '../api/types.ts'
import { curlCommand } from '../copy-as/curl.ts'
import { CopyButton, Section } from '../ui/parts.tsx'

type CommandProps = { title: string; method: string; path: string; body?: unknown }

/** A curl command. The token stays in a shell variable. */
export function Command({ title, ...request }: CommandProps) {
  const command = curlCommand({ base: window.location.origin, ...request })
  return (
    <>
      <Subheading>{title}</Subheading>
      <Box pos="relative">
        {/* What scrolls must be reachable by keyboard. */}
        <Code block tabIndex={0} fz="sm">
          {command}
        </Code>
        <Box pos="absolute" top={8} right={8}>
          <CopyButton size="compact-xs" text={() => command} />
        </Box>
      </Box>
    </>
  )
}

export function Subheading({ children }: { children: ReactNode }) {
  return (
    <Title order={3} size="h6" mt="sm" mb={4}>
      {children}
    </Title>
  )
}

export function TokenHint({ children }: { children?: string }) {
  return (
    <Text className="dimmed" size="sm">
      Hooks are managed through the API. Set <code>GANTRY_TOKEN</code> to a personal access token. {children}
    </Text>
  )
}

export function HookCommands({ hook }: { hook: Hook }) {
  const path = `/hooks/${hook.type}/${hook.id}`
  const dayAgo = new Date(Date.now() - 86_400_000).toISOString()
  return (
    <Section id="commands" title="Manage this hook">
      <TokenHint />
      <Command
        title={hook.active ? 'Deactivate' : 'Activate'}
        method="PUT"
        path={path}
        body={{ active: !hook.active }}
      />
      {hook.type === 'incoming' ? (
        <Command
          title="Test a payload without running anything"
          method="POST"
          path={`${path}/dry-run`}
          body={{ body: examplePayload(hook) }}
        />
      ) : (
        <>
          <Command
            title="Preview a delivery without sending it"
            method="POST"
            path={`${path}/preview`}
            body={{}}
          />
          <Command
            title="Resend failed deliveries of the last 24 hours"
            method="POST"
            path={`${path}/redeliver`}
            body={{ from: dayAgo, only_failed: true }}
          />
        </>
      )}
      <Command title="Rotate the secret" method="POST" path={`${path}/rotate-secret`} body={{}} />
    </Section>
  )
}

const EXAMPLES: Record<string, unknown> = { string: 'text', integer: 1, boolean: true, array: [] }

/** The simple paths filled in; good enough to start with. */
function examplePayload({ settings }: Hook): Record<string, unknown> {
  const variables = Array.isArray(settings.variables) ? settings.variables : []
  const payload = emptyObject()
  for (const { name, path, type } of variables) {
    const keys = String(path ?? name).split('.')
    let at = payload
    for (const key of keys.slice(0, -1)) {
      at[key] ??= emptyObject()
      at = at[key] as Record<string, unknown>
    }
    if (typeof at === 'object') at[keys.at(-1)!] = EXAMPLES[type] ?? 'text'
  }
  return payload
}

/** Without a prototype: a path may contain `__proto__`. */
function emptyObject(): Record<string, unknown> {
  return Object.create(null)
}
