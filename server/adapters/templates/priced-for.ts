import { ForTag } from 'liquidjs'

const PRICE_OF_AN_EXPRESSION = 400

/** Every turn is paid for by what stands in the loop; otherwise only the clock would end loops in loops. */
export class PricedFor extends ForTag {
  constructor(...given: [...ConstructorParameters<typeof ForTag>]) {
    super(...given)
    const { input, end } = this.token
    const [, following] = given
    const inside = input.slice(end, following[0]?.begin)
    const expressions = inside.split(/\{[{%]/).length
    const price = inside.length + expressions * PRICE_OF_AN_EXPRESSION
    this.templates.unshift({ token: this.token, render: (context) => context.memoryLimit.use(price) })
  }
}
