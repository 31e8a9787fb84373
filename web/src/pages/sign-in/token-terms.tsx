import { Checkbox, List, Text } from '@mantine/core'
import { Command } from '#web/base/ui/parts.tsx'

type TokenTermsProps = { name: string; mayApprove: boolean; setMayApprove(may: boolean): void }

/** What the approval of a login gives to a machine, and how to take it back. */
export function TokenTerms({ name, mayApprove, setMayApprove }: TokenTermsProps) {
  return (
    <>
      <div>
        <Text>If you approve, the command line gets a personal access token:</Text>
        <List mt="xs" className="wrap">
          <List.Item>
            named “gantry on <bdi>{name}</bdi>”
          </List.Item>
          <List.Item>
            with all of your permissions{mayApprove ? '' : ', except that it cannot approve runs'}
          </List.Item>
          <List.Item>that expires in 90 days</List.Item>
        </List>
      </div>
      <Checkbox
        label="May approve"
        description="Let this machine approve and reject runs for you."
        checked={mayApprove}
        onChange={(event) => setMayApprove(event.currentTarget.checked)}
      />
      <Text>
        To revoke it, run <Command>gantry logout</Command> or go to Account → Personal access tokens.
      </Text>
    </>
  )
}
