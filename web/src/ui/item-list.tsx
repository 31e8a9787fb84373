import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './item-list.module.css'

export function ItemList({ children }: { children: ReactNode }) {
  return <ul className={`plain-list ${classes.items}`}>{children}</ul>
}

type ItemProps = { title: ReactNode; action: ReactNode; children: ReactNode }

/** `children` are its details, `action` is on the right. */
export function Item({ title, action, children }: ItemProps) {
  return (
    <li className={classes.item}>
      <div className={classes.text}>
        <div className={classes.title}>{title}</div>
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
