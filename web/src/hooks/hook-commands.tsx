// Commands that manage hooks through the API, ready to be copied.
import { Box, Code, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { curlCommand } from '../copy-as/curl.ts'
import { CopyButton } from '../ui/parts.tsx'

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
