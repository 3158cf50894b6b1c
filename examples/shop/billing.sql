--
-- PostgreSQL database dump
--

SET client_encoding = 'UTF8';

CREATE TABLE public.prices (
    sku character varying(12) NOT NULL,
    price numeric(10,2) NOT NULL
);

COMMENT ON TABLE public.prices IS 'List prices in euro';

COPY public.prices (sku, price) FROM stdin;
SKU-1	20.31
SKU-2	32.82
SKU-3	33.44
SKU-4	26.55
SKU-5	20.17
SKU-6	10.62
SKU-7	23.88
SKU-8	50.22
SKU-9	12.04
\.

ALTER TABLE ONLY public.prices
    ADD CONSTRAINT prices_pkey PRIMARY KEY (sku);

--
-- PostgreSQL database dump complete
--
