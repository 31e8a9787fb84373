import { Button, Group, List, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { LiveRelease } from '../api/types.ts'
import { Loaded } from '../ui/page.tsx'
import { containment, readCommitDigits, useContaining } from './server-releases.ts'

/** "Is my commit live, and where?" */
export function CommitSearch({ applicationId }: { applicationId: number }) {
  const [text, setText] = useState('')
  const [asked, setAsked] = useState<string>()
  const [error, setError] = useState<string>()
  const query = useContaining(applicationId, asked)
  return (
    <>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          const digits = readCommitDigits(text)
          setAsked(digits)
          setError(digits === undefined ? 'Enter at least 7 digits of a commit hash.' : undefined)
        }}
      >
        <Group gap="xs" align="flex-start" mb="xs">
          <TextInput
            aria-label="Is this commit live?"
            placeholder="Is this commit live?"
            maxLength={64}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            error={error}
          />
          <Button type="submit" variant="default" loading={query.isFetching}>
            Check
          </Button>
        </Group>
      </form>
      {asked !== undefined && (
        <Loaded query={query} what="servers">
          {(servers) => <Answers servers={servers} />}
        </Loaded>
      )}
    </>
  )
}

function Answers({ servers }: { servers: LiveRelease[] }) {
  return (
    <List size="sm" mb="sm" aria-label="Where the commit is live">
      {servers.map((live, index) => (
        <List.Item key={live.server?.id ?? index}>
          {live.server && `${live.server.name}: `}
          <Text span fw={live.contains ? 600 : undefined}>
            {containment(live)}
          </Text>
        </List.Item>
      ))}
    </List>
  )
}
