import { Alert, Button } from '@mantine/core'
import { Away, Refusal } from '../api/api.ts'
import { Loading } from './loading.tsx'
import { NotFound } from './not-found.tsx'

/** What stands in the place of a thing that could not be read. */
export function Fault({ error, what, retry }: { error: Error; what: string; retry(): void }) {
  if (error instanceof Away) return <Loading what={what} />
  if (error instanceof Refusal && (error.status === 404 || (error.status === 422 && what !== 'actions')))
    return <NotFound what={what} />
  if (error instanceof Refusal && error.status === 401) return <Loading what={what} />
  return (
    <Alert color="red" variant="light" title={`This could not be read: ${what}`} role="alert">
      <p>{error.message}</p>
      {error instanceof Refusal &&
        Object.entries(error.fields).map(([field, faults]) => (
          <p key={field}>
            <code>{field}</code> {faults.join('; ')}
          </p>
        ))}
      <Button size="xs" variant="default" onClick={retry}>
        Try again
      </Button>
    </Alert>
  )
}
