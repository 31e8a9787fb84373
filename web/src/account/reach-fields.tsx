// Which organizations or projects a new token reaches.
import { Checkbox, NativeSelect, Stack, Text } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import { combineQueries } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import { projectsQuery, useOrganizations } from '../scope/tree.ts'
import type { RecordForm } from '../ui/form/use-record-form.ts'
import { Loaded } from '../ui/page.tsx'
import classes from './account.module.css'
import { REACHES, type TokenInput } from './token-input.ts'

type Organization = { id: number; name: string }

export function ReachFields({ form }: { form: RecordForm<TokenInput> }) {
  const { reach } = form.values
  const organizations = useOrganizations()
  return (
    <>
      <NativeSelect label="Access to" data={REACHES} {...form.field('reach')} />
      {reach !== 'all' && (
        <Loaded query={organizations} what="organizations">
          {(all) => {
            if (all.length === 0)
              return <Text className="dimmed">You cannot access a whole organization here.</Text>
            if (reach === 'projects') return <ProjectChoices form={form} organizations={all} />
            const choices = all.map(({ id, name }) => ({ id, name }))
            return <Choices label="Organizations" choices={choices} {...form.field('organizations')} />
          }}
        </Loaded>
      )}
    </>
  )
}

type ProjectChoicesProps = { form: RecordForm<TokenInput>; organizations: Organization[] }

function ProjectChoices({ form, organizations }: ProjectChoicesProps) {
  const api = useApi()
  const query = useQueries({
    queries: organizations.map(({ id }) => projectsQuery(api, id)),
    combine: combineQueries,
  })
  return (
    <Loaded query={query} what="projects">
      {(lists) => {
        const choices = lists.flatMap((projects, index) =>
          projects.map(({ id, name }) => ({ id, name: `${organizations[index]!.name} / ${name}` })),
        )
        return <Choices label="Projects" choices={choices} {...form.field('projects')} />
      }}
    </Loaded>
  )
}

type ChoicesProps = { label: string; choices: Organization[] }

function Choices({ label, choices, ...rest }: ChoicesProps) {
  return (
    <Checkbox.Group label={label} {...rest}>
      <Stack gap="xs" mt="xs" className={classes.choices}>
        {choices.map(({ id, name }) => (
          <Checkbox key={id} value={String(id)} label={name} />
        ))}
      </Stack>
    </Checkbox.Group>
  )
}
