// Reordering by pointer and by keyboard: Space picks a step up, arrows move it, Space drops it, Escape puts it back.
import {
  type Announcements,
  closestCenter,
  DndContext,
  type DragEndEvent,
  KeyboardSensor,
  type Modifier,
  PointerSensor,
  useSensor,
  useSensors,
} from '@dnd-kit/core'
import { SortableContext, sortableKeyboardCoordinates, verticalListSortingStrategy } from '@dnd-kit/sortable'
import { type ReactNode, useRef } from 'react'
import type { PipelineStep } from '#web/base/api/types.ts'

const vertically: Modifier = ({ transform }) => ({ ...transform, x: 0 })

const INSTRUCTIONS = {
  draggable:
    'Press Space to pick up the step, the arrow keys to move it, Space again to drop it, and Escape to cancel.',
}

type SortableStepsProps = {
  steps: readonly PipelineStep[]
  /** Replaced by a form: nothing to drag. */
  openedId: number | undefined
  move(id: number, to: number): void
  children: ReactNode
}

export function SortableSteps({ steps, openedId, move, children }: SortableStepsProps) {
  const sensors = useSensors(
    // A click is no drag.
    useSensor(PointerSensor, { activationConstraint: { distance: 4 } }),
    useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates }),
  )
  const isFresh = useRef(false)
  const onDragEnd = ({ active, over }: DragEndEvent) => {
    const to = steps.findIndex(({ id }) => id === over?.id)
    if (to !== -1 && over?.id !== active.id) move(active.id as number, to)
  }
  return (
    <DndContext
      sensors={sensors}
      collisionDetection={closestCenter}
      modifiers={[vertically]}
      onDragEnd={onDragEnd}
      accessibility={{
        announcements: announcementsFor(steps, isFresh),
        screenReaderInstructions: INSTRUCTIONS,
      }}
    >
      <SortableContext
        items={steps.map(({ id }) => id).filter((id) => id !== openedId)}
        strategy={verticalListSortingStrategy}
      >
        {children}
      </SortableContext>
    </DndContext>
  )
}

/** `isFresh`: just picked up, and so over its own position. That is no news, and would hide that it was picked up. */
function announcementsFor(steps: readonly PipelineStep[], isFresh: { current: boolean }): Announcements {
  const nameOf = (id: unknown) => steps.find((step) => step.id === id)?.name ?? 'The step'
  const positionOf = (id: unknown) =>
    `position ${steps.findIndex((step) => step.id === id) + 1} of ${steps.length}`
  return {
    onDragStart({ active }) {
      isFresh.current = true
      return `Picked up ${nameOf(active.id)}, ${positionOf(active.id)}.`
    },
    onDragOver({ active, over }) {
      const wasFresh = isFresh.current
      isFresh.current = false
      if (!over || (wasFresh && over.id === active.id)) return undefined
      return `${nameOf(active.id)} is over ${positionOf(over.id)}.`
    },
    onDragEnd: ({ active, over }) =>
      `${nameOf(active.id)} was dropped at ${positionOf(over?.id ?? active.id)}.`,
    onDragCancel: ({ active }) => `Canceled. ${nameOf(active.id)} is back at ${positionOf(active.id)}.`,
  }
}
