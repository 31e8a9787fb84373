import { List, Text } from '@mantine/core'
import { Command } from '#web/base/ui/parts.tsx'

/** What the approval of a login gives to a machine, and how to take it back. */
export function TokenTerms({ name }: { name: string }) {
  return (
    <>
      <div>
        <Text>If you approve, the command line gets a personal access token:</Text>
        <List mt="xs" className="wrap">
          <List.Item>
            named “gantry on <bdi>{name}</bdi>”
          </List.Item>
          <List.Item>with all of your permissions</List.Item>
          <List.Item>that expires in 90 days</List.Item>
        </List>
      </div>
      <Text>
        To revoke it, run <Command>gantry logout</Command> or go to Account → Personal access tokens.
      </Text>
    </>
  )
}
