import { Paper, Text, UnstyledButton } from '@mantine/core'
import type { LucideIcon } from 'lucide-react'
import classes from './tiles.module.css'

type Service = { code: string; name: string }
type TilesProps<One extends Service> = {
  label: string
  services: One[]
  iconOf(service: One): LucideIcon
  textOf(service: One): string
  choose(service: One): void
}

/** The services of the catalog, to choose from. */
export function Tiles<One extends Service>({ label, services, iconOf, textOf, choose }: TilesProps<One>) {
  return (
    <ul className={`plain-list ${classes.tiles}`} aria-label={label}>
      {services.map((service) => {
        const Icon = iconOf(service)
        return (
          <li key={service.code}>
            <UnstyledButton className={classes.tile} onClick={() => choose(service)}>
              <Paper withBorder p="md" h="100%" component="span" display="block">
                <span className={classes.name}>
                  <Icon size={18} strokeWidth={1.75} aria-hidden="true" />
                  {service.name}
                </span>
                <Text component="span" size="sm" className="dimmed" lineClamp={2}>
                  {textOf(service)}
                </Text>
              </Paper>
            </UnstyledButton>
          </li>
        )
      })}
    </ul>
  )
}
