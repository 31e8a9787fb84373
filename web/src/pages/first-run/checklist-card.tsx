import '@mantine/core/styles/Progress.css'
import { Button, CloseButton, Group, Paper, Progress, Title, VisuallyHidden } from '@mantine/core'
import { Circle, CircleCheck, Rocket } from 'lucide-react'
import { Link } from 'wouter'
import { Dimmed } from '#web/base/ui/parts.tsx'
import type { Task } from './checklist.ts'
import classes from './first-run.module.css'

/** `hide`: undefined where there is nothing else to show. */
export default function Checklist({ tasks, hide }: { tasks: Task[]; hide: (() => void) | undefined }) {
  const done = tasks.filter(({ isDone }) => isDone).length
  const next = tasks.find(({ isDone }) => !isDone)
  return (
    <Paper component="section" withBorder p="md" mb="md" aria-labelledby="setup">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <div>
          <Title order={2} size="h4" id="setup">
            Deploy on push, in five steps
          </Title>
          <Dimmed>
            {done} of {tasks.length} done
          </Dimmed>
        </div>
        {hide && <CloseButton aria-label="Hide checklist" onClick={hide} />}
      </Group>
      <Progress value={(done / tasks.length) * 100} my="sm" aria-label="Setup progress" />
      <ol className={`plain-list ${classes.tasks}`}>
        {tasks.map((task) => (
          <li key={task.name} data-done={task.isDone || undefined}>
            {task.isDone ? <CircleCheck size={18} aria-hidden /> : <Circle size={18} aria-hidden />}
            <div>
              {task.isDone ? <s>{task.name}</s> : <Link href={task.to}>{task.name}</Link>}
              {task.isDone && <VisuallyHidden> (done)</VisuallyHidden>}
              <div className="dimmed">{task.description}</div>
            </div>
          </li>
        ))}
      </ol>
      {next && (
        <Button component={Link} href={next.to} mt="sm" leftSection={<Rocket size={16} aria-hidden />}>
          {done === 0 ? 'Add your first application' : next.name}
        </Button>
      )}
    </Paper>
  )
}
