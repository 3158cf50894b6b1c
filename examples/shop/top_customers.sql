-- Revenue by customer: CRM export (CSV), shop events (JSON lines) and billing (a pg_dump), joined in one statement.
-- buyer_id in the shop is customer_id in the CRM without its prefix, and some carry a stray '#'.
SELECT c.full_name, c.city, count(DISTINCT o.order_id) AS orders, sum(i.item.quantity * p.price) AS revenue
FROM crm.customers AS c
JOIN shop.orders AS o
  ON c.customer_id = 'CUST-' || lpad(ltrim(o.buyer_id, '#'), 4, '0')
CROSS JOIN unnest(o.items) AS i(item)
JOIN billing.prices AS p
  ON p.sku = i.item.sku
GROUP BY ALL
ORDER BY revenue DESC
LIMIT 5
