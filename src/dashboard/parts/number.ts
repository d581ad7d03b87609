const plain = new Intl.NumberFormat('en')
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const whole = new Intl.NumberFormat('en', { style: 'percent' })
const fine = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 })

/** "1,234,567" */
export function count(value: number): string {
  return plain.format(value)
}

/** "1.2M", for where there is little room. */
export function shortCount(value: number): string {
  return short.format(value)
}

/** "42%"; below ten per cent "4.2%". The share is of one. */
export function percent(share: number): string {
  return (Math.abs(share) < 0.1 ? fine : whole).format(share)
}

/** "1 link", "214 links". */
export function counted(value: number, one: string): string {
  return `${count(value)} ${one}${value === 1 ? '' : 's'}`
}
