// Small compositions of Mantine components that several pages share.
import {
  Badge,
  Button,
  type ButtonProps,
  Code,
  DataList,
  Group,
  Paper,
  Text,
  type TextProps,
  Title,
  VisuallyHidden,
} from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { STATUSES } from '#client/index.ts'
import { ReasonedButton } from './controls.tsx'
import itemClasses from './item-list.module.css'
import { STATUS_ICONS, type Status } from './status.ts'
import classes from './status-badge.module.css'

type SectionProps = {
  id: string
  title: ReactNode
  size?: 'h4' | 'h5'
  /** On the right of the title. */
  action?: ReactNode
  children: ReactNode
}

/** A part of a page with a heading. */
export function Section({ id, title, size = 'h4', action, children }: SectionProps) {
  return (
    <section aria-labelledby={id} className="section">
      <Group justify="space-between" gap="xs" mb="xs" wrap="nowrap">
        <Title order={2} size={size} id={id}>
          {title}
        </Title>
        {action}
      </Group>
      {children}
    </section>
  )
}

/** The same in a frame. */
export function SectionCard(props: SectionProps) {
  return (
    <Paper withBorder p="md">
      <Section size="h5" {...props} />
    </Paper>
  )
}

/** Secondary text. */
export function Dimmed(props: TextProps & { role?: string; component?: 'div'; children: ReactNode }) {
  return <Text size="sm" className="dimmed" {...props} />
}

type FactProps = { label: string; className?: string | undefined; children: ReactNode }

/** A label and a value in a Mantine `DataList`; nothing without a value. */
export function Fact({ label, className, children }: FactProps) {
  if (!children) return null
  return (
    <DataList.Item className={className}>
      <DataList.ItemLabel>{label}</DataList.ItemLabel>
      <DataList.ItemValue className="wrap">{children}</DataList.ItemValue>
    </DataList.Item>
  )
}

type CopyButtonProps = Pick<ButtonProps, 'size' | 'className'> & {
  text(): string
  /** Why there is nothing to copy; undefined if there is. */
  reason?: string | undefined
  /** Where a page has several: "Copy URL". */
  label?: string
}

export function CopyButton({ text, label, reason, ...rest }: CopyButtonProps) {
  const { copy, copied, error } = useClipboard()
  // Browsers offer the clipboard only to pages from HTTPS or from this machine.
  if (!navigator.clipboard) return null
  const result = error ? 'Copy failed' : copied ? 'Copied' : ''
  return (
    <>
      <ReasonedButton
        {...rest}
        variant="default"
        reason={reason}
        onClick={() => copy(text())}
        aria-label={result ? undefined : label}
      >
        {result || 'Copy'}
      </ReasonedButton>
      <VisuallyHidden role="status">{result}</VisuallyHidden>
    </>
  )
}

type StatusBadgeProps = { status: Status; label?: string; icon?: string }

/** The status, or a more specific label in its color. */
export function StatusBadge({ status, label, icon = STATUS_ICONS[status] }: StatusBadgeProps) {
  return (
    // A variant that Mantine does not know leaves the colors to the style sheet.
    <Badge
      variant="status"
      size="lg"
      classNames={{ root: classes.badge!, label: classes.label! }}
      data-status={status}
      leftSection={<span aria-hidden="true">{icon}</span>}
    >
      {label || STATUSES[status]}
    </Badge>
  )
}

export function ItemList({ children }: { children: ReactNode }) {
  return <ul className={`plain-list ${itemClasses.items}`}>{children}</ul>
}

type ItemProps = { title: ReactNode; action: ReactNode; children: ReactNode }

/** `children` are its details, `action` is on the right. */
export function Item({ title, action, children }: ItemProps) {
  return (
    <li className={itemClasses.item}>
      <div className={itemClasses.text}>
        <div className={itemClasses.title}>{title}</div>
        <div className="dimmed wrap">{children}</div>
      </div>
      {action}
    </li>
  )
}

type ItemButtonProps = { label: string; isPending?: boolean; onClick(): void; children: ReactNode }

/** What can be done with one item of several: `label` names it. */
export function ItemButton({ label, isPending, onClick, children }: ItemButtonProps) {
  return (
    <Button variant="default" size="xs" loading={isPending} onClick={onClick} aria-label={label}>
      {children}
    </Button>
  )
}

/** On one line, as it is typed. */
export function Command({ children }: { children: string }) {
  return <Code style={{ whiteSpace: 'nowrap' }}>{children}</Code>
}
